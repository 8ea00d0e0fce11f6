import type { Board } from "@/lib/contract/api";
import { paretoAxes, taskChoices } from "@/lib/contract/vocabulary";
import { plural } from "@/lib/format/numbers";
import { type BoardView, changedHref, defaultView } from "@/lib/prepare/board-view";
import { categoryLabels, conditionLabels } from "@/lib/prepare/labels";
import { BoardTools } from "./board-tools";
import { Choice } from "./choice";
import { ExportMenu } from "./export-menu";
import type { SuiteChoice } from "./suite-choice";
import { SuiteNav } from "./suite-nav";

/** Suite, version, condition, category and form as links: every view is an address, and none needs JavaScript. */
export function ViewControls({
  board,
  view,
  suites,
}: {
  board: Board;
  view: BoardView;
  suites: readonly SuiteChoice[];
}) {
  const { suite } = board;
  const chosen = suites.find((one) => one.slug === suite.slug);
  const otherCondition = board.promptCondition === "interface" ? "pr-description" : "interface";
  const boards = chosen?.versions.find(({ version }) => version === suite.version)?.boards ?? [];
  const skills = boards.flatMap((one) =>
    one.promptCondition === board.promptCondition && one.skill !== null && one.skill !== board.skill ? [one.skill] : [],
  );
  // another board has other rows, and perhaps no such category
  const elsewhere = { ...view, category: null, filters: defaultView.filters };
  return (
    <div className="controls">
      <SuiteNav
        suites={suites}
        suite={suite}
        suiteHref={(slug) => changedHref(elsewhere, { suite: slug === suites[0]?.slug ? null : slug, version: null })}
        versionHref={(version) => changedHref(elsewhere, { version })}
      />
      <p className="suite-facts">
        {suite.title} {suite.version}: {suite.taskCount} {plural(suite.taskCount, "task")}, probes {suite.probes},{" "}
        {conditionLabels[board.promptCondition]}
        {board.skill ? (
          <>
            , skill <bdi>{board.skill}</bdi>
          </>
        ) : (
          ", no skill"
        )}
        .{" "}
        <a href={changedHref(elsewhere, { condition: otherCondition, skill: null })}>
          Show the {conditionLabels[otherCondition]}
        </a>
        {skills.map((skill) => (
          <span key={skill}>
            {" · "}
            <a href={changedHref(elsewhere, { skill })}>
              With skill <bdi>{skill}</bdi>
            </a>
          </span>
        ))}
      </p>
      <div className="tab-line">
        <nav aria-label="Category">
          <ul className="tabs">
            <Choice href={changedHref(view, { category: null })} current={view.category === null}>
              All tasks <span className="count">{suite.taskCount}</span>
            </Choice>
            {suite.categoryCounts.map(({ category, count }) => (
              <Choice key={category} href={changedHref(view, { category })} current={view.category === category}>
                {categoryLabels[category]} <span className="count">{count}</span>
              </Choice>
            ))}
          </ul>
        </nav>
        <nav aria-label="View">
          <ul className="tabs">
            <Choice
              href={changedHref(view, { pareto: null, matrix: null })}
              current={view.pareto === null && view.matrix === null}
            >
              Table
            </Choice>
            <Choice
              href={changedHref(view, { pareto: view.pareto ?? paretoAxes[0], matrix: null })}
              current={view.pareto !== null}
            >
              Pareto
            </Choice>
            <Choice
              href={changedHref(view, { pareto: null, matrix: view.matrix ?? taskChoices[0] })}
              current={view.matrix !== null}
            >
              Matrix
            </Choice>
          </ul>
        </nav>
      </div>
      <div className="tab-line tool-line">
        <nav aria-label="Ranked by" className="ranked-by">
          <span aria-hidden="true">Ranked by</span>
          <ul className="tabs">
            <Choice href={changedHref(view, { tests: "all" })} current={view.tests === "all"}>
              official tests and probes
            </Choice>
            <Choice href={changedHref(view, { tests: "official" })} current={view.tests === "official"}>
              official tests alone
            </Choice>
          </ul>
        </nav>
        <div className="tools">
          <BoardTools board={board} view={view} />
          <ExportMenu board={board} view={view} />
        </div>
      </div>
    </div>
  );
}
