import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import type { ProbesAnswer } from "@/lib/contract/probes-api";
import { defaultView } from "@/lib/prepare/board-view";
import type { ProbesView } from "@/lib/prepare/probes-view";
import { getProbes, listSuites } from "@/lib/server/readers";
import { findBoard } from "../board/find-board";

/**
 * What the probes of a view's board reject, with the suites to choose from; of the first suite whose tasks are published
 * where it names none. Null where there is no such board.
 */
export async function findProbes(
  view: ProbesView,
): Promise<{ answer: ProbesAnswer; suites: readonly SuiteChoice[] } | null> {
  const known = await listSuites();
  const suite = view.suite ?? (known.find(({ reported }) => !reported) ?? known[0])?.slug;
  const { version, condition, skill } = view;
  const found = suite ? await findBoard({ ...defaultView, suite, version, condition, skill }) : null;
  if (!found) return null;
  const { board, suites } = found;
  const answer = await getProbes(board.suite.slug, board.suite.version, board.promptCondition, board.skill);
  return answer && { answer, suites };
}
