import { ExportLinks } from "@/components/compare/export-links";
import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import { SuiteNav } from "@/components/leaderboard/suite-nav";
import type { ProbesAnswer } from "@/lib/contract/probes-api";
import { conditionLabels } from "@/lib/prepare/labels";
import { type ProbesView, probesHref, probesTwinHref } from "@/lib/prepare/probes-view";
import { pooledNote, probesFinding } from "@/lib/prepare/probes-words";
import { ProbeEntries } from "./probe-entries";
import { ProbeProperties } from "./probe-properties";
import { ProbeTasks } from "./probe-tasks";
import { PublishedProbesSection } from "./published-probes";

function Controls({
  answer,
  view,
  suites,
}: {
  answer: ProbesAnswer;
  view: ProbesView;
  suites: readonly SuiteChoice[];
}) {
  const { suite, promptCondition, skill } = answer;
  const chosen = suites.find(({ slug }) => slug === suite.slug);
  const boards = chosen?.versions.find(({ version }) => version === suite.version)?.boards ?? [];
  const others = boards.filter((board) => board.promptCondition !== promptCondition || board.skill !== skill);
  return (
    <div className="controls">
      <SuiteNav
        suites={suites}
        suite={suite}
        suiteHref={(slug) => probesHref({ suite: slug })}
        versionHref={(version) => probesHref({ suite: suite.slug, version })}
      />
      <div className="tab-line">
        <p className="suite-facts">
          {suite.title} {suite.version}, probes {suite.probes}, {conditionLabels[promptCondition]}
          {skill ? (
            <>
              , skill <bdi>{skill}</bdi>
            </>
          ) : null}
          {others.map((board) => (
            <span key={`${board.promptCondition} ${board.skill}`}>
              {" · "}
              <a
                href={probesHref({
                  ...view,
                  suite: suite.slug,
                  condition: board.promptCondition,
                  skill: board.skill,
                })}
              >
                {conditionLabels[board.promptCondition]}
                {board.skill ? ", skill " : ""}
                {board.skill ? <bdi>{board.skill}</bdi> : null}
              </a>
            </span>
          ))}
        </p>
        <ExportLinks href={(form) => probesTwinHref(view, form)} name={`probes-${suite.slug}-${suite.version}`} />
      </div>
    </div>
  );
}

/** What the probes reject that every official test lets pass; graded here first, published figures apart below. */
export function ProbesPage({
  answer,
  view,
  suites,
}: {
  answer: ProbesAnswer;
  view: ProbesView;
  suites: readonly SuiteChoice[];
}) {
  const { headline, lead } = probesFinding(answer);
  return (
    <>
      <div className="finding">
        <h1>{headline}</h1>
        <p className="lead">{lead}</p>
      </div>
      <Controls answer={answer} view={view} suites={suites} />
      <section aria-labelledby="graded">
        <h2 id="graded">Graded here</h2>
        <ProbeEntries answer={answer} />
        {answer.pooled.rows + answer.references.length > 0 ? <p className="aside">{pooledNote}</p> : null}
      </section>
      <ProbeProperties answer={answer} />
      <ProbeTasks answer={answer} />
      {answer.published.map((published) => (
        <PublishedProbesSection key={`${published.source.url} ${published.table.key}`} published={published} />
      ))}
    </>
  );
}
