import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import type { Board } from "@/lib/contract/api";
import type { BoardView } from "@/lib/prepare/board-view";
import { getBoard, listSuites, type SuiteListItem } from "@/lib/server/readers";

/** Suites in their order, each with its versions. */
export function choicesOf(suites: readonly SuiteListItem[]): SuiteChoice[] {
  return suites.flatMap((newest, index) => {
    const isFirst = suites.findIndex(({ slug }) => slug === newest.slug) === index;
    const versions = suites.filter(({ slug }) => slug === newest.slug);
    return isFirst ? [{ slug: newest.slug, title: newest.title, taskCount: newest.taskCount, versions }] : [];
  });
}

/**
 * The board that a view asks for, with the suites to choose from; null where there is none. A skill that no
 * published submission names has no board: anything can be asked for as a skill, and every page that is found is kept.
 */
export async function findBoard(view: BoardView): Promise<{ board: Board; suites: SuiteChoice[] } | null> {
  const suites = choicesOf(await listSuites());
  const slug = view.suite ?? suites[0]?.slug;
  if (!slug) return null;
  const board = await getBoard({
    suite: slug,
    promptCondition: view.condition,
    version: view.version ?? undefined,
    skill: view.skill,
  });
  if (!board) return null;
  const isSkillKnown =
    view.skill === null ||
    board.rows.length + board.references.length > 0 ||
    // published, and its first grading not yet in
    suites.some((suite) =>
      suite.versions.some(
        ({ version, boards }) =>
          suite.slug === board.suite.slug &&
          version === board.suite.version &&
          boards.some(({ skill }) => skill === view.skill),
      ),
    );
  return isSkillKnown ? { board, suites } : null;
}
