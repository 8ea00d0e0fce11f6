import type { Board } from "@/lib/contract/api";
import { paretoAxes } from "@/lib/contract/vocabulary";
import { plural } from "@/lib/format/numbers";
import { type BoardView, viewHref } from "@/lib/prepare/board-view";
import { categoryLabels, conditionLabels } from "@/lib/prepare/labels";
import { ExportMenu } from "./export-menu";
import type { SuiteChoice } from "./suite-choice";

/** A choice that is an address. */
export function Choice({ href, current, children }: { href: string; current: boolean; children: React.ReactNode }) {
  return (
    <li>
      <a href={href} aria-current={current ? "true" : undefined}>
        {children}
      </a>
    </li>
  );
}

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
  const first = suites[0]?.slug ?? null;
  const otherCondition = board.promptCondition === "interface" ? "pr-description" : "interface";
  const boards = chosen?.versions.find(({ version }) => version === suite.version)?.boards ?? [];
  const skills = boards.flatMap((one) =>
    one.promptCondition === board.promptCondition && one.skill !== null && one.skill !== board.skill ? [one.skill] : [],
  );
  const named = (slug: string) => (slug === first ? null : slug);
  return (
    <div className="controls">
      <nav aria-label="Suite">
        <ul className="suites">
          {suites.map((one) => (
            <Choice
              key={one.slug}
              href={viewHref({ ...view, suite: named(one.slug), version: null, category: null })}
              current={one.slug === suite.slug}
            >
              <bdi>{one.title}</bdi> <span className="count">{one.taskCount}</span>
            </Choice>
          ))}
        </ul>
        {chosen && chosen.versions.length > 1 ? (
          <ul className="versions" aria-label="Version">
            {chosen.versions.map(({ version }, index) => (
              <Choice
                key={version}
                href={viewHref({ ...view, version: index === 0 ? null : version })}
                current={version === suite.version}
              >
                {version}
              </Choice>
            ))}
          </ul>
        ) : null}
      </nav>
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
        <a href={viewHref({ ...view, condition: otherCondition, skill: null, category: null })}>
          Show the {conditionLabels[otherCondition]}
        </a>
        {skills.map((skill) => (
          <span key={skill}>
            {" · "}
            <a href={viewHref({ ...view, skill, category: null })}>
              With skill <bdi>{skill}</bdi>
            </a>
          </span>
        ))}
      </p>
      <div className="tab-line">
        <nav aria-label="Category">
          <ul className="tabs">
            <Choice href={viewHref({ ...view, category: null })} current={view.category === null}>
              All tasks <span className="count">{suite.taskCount}</span>
            </Choice>
            {suite.categoryCounts.map(({ category, count }) => (
              <Choice key={category} href={viewHref({ ...view, category })} current={view.category === category}>
                {categoryLabels[category]} <span className="count">{count}</span>
              </Choice>
            ))}
          </ul>
        </nav>
        <nav aria-label="View">
          <ul className="tabs">
            <Choice href={viewHref({ ...view, pareto: null })} current={view.pareto === null}>
              Table
            </Choice>
            <Choice href={viewHref({ ...view, pareto: view.pareto ?? paretoAxes[0] })} current={view.pareto !== null}>
              Pareto
            </Choice>
          </ul>
        </nav>
        <ExportMenu board={board} view={view} />
      </div>
    </div>
  );
}
