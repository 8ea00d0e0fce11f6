import { StripPatterns, TaskStrip } from "@/components/leaderboard/task-strip";
import { Crumbs } from "@/components/ui/crumbs";
import { StructuredData } from "@/components/ui/structured-data";
import type { EntryDetail, EntryStanding } from "@/lib/contract/entry-api";
import { formatInterval, formatPct, formatRankSet } from "@/lib/format/numbers";
import { compareHref } from "@/lib/prepare/compare-view";
import { standingSentence } from "@/lib/prepare/entry-finding";
import { entryDataset, standingHref } from "@/lib/prepare/entry-twins";
import { conditionLabels } from "@/lib/prepare/labels";
import { taskListHref } from "@/lib/prepare/task-list-view";
import { CustomBadge } from "./custom-badge";
import { EntryFailures } from "./entry-failures";
import { EntryCategories, EntryFigures, EntryRepeats } from "./entry-figures";
import { EntryMade } from "./entry-made";
import { EntryPublished } from "./entry-published";
import { EntrySubmissions } from "./entry-submissions";
import { EntryTasks } from "./entry-tasks";

/** Agent with version and effort, prompt and skill, as far as they are stated. */
function ConfigurationLine({ candidate }: EntryDetail) {
  if (candidate.kind === "reference") return "reference patch set";
  const agent = [candidate.agent, candidate.agentVersion].filter(Boolean).join(" ");
  return (
    <>
      {agent ? <bdi>{agent}</bdi> : "agent not stated"}
      {candidate.reasoningEffort ? (
        <>
          , effort <bdi>{candidate.reasoningEffort}</bdi>
        </>
      ) : null}
      , {conditionLabels[candidate.promptCondition]},{" "}
      {candidate.skill ? (
        <>
          skill <bdi>{candidate.skill.name}</bdi>
        </>
      ) : (
        "no skill"
      )}
    </>
  );
}

function Headline({ standing }: { standing: EntryStanding }) {
  const { row, ranked, repeats } = standing;
  if (!row) return null;
  const last = repeats?.byK.at(-1);
  const { resolved } = row;
  const interval = standing.figures.find(({ key }) => key === "resolved")?.interval;
  return (
    <dl className="headline-figures">
      <div>
        <dt>Resolved, %</dt>
        <dd>
          <b>{formatPct(resolved.pct)}</b>
          <small>
            {resolved.resolved === null ? "" : `${resolved.resolved} of ${resolved.total}; `}
            {interval ? `95 % interval ${formatInterval(interval)}` : ""}
          </small>
        </dd>
      </div>
      <div>
        <dt>Rank set</dt>
        <dd>
          <b>{formatRankSet(row.rankSet)}</b>
          <small>
            {row.rankSet
              ? `of ${ranked} ranked`
              : row.entry.kind === "reference"
                ? "reference: unranked"
                : "provisional: unranked"}
          </small>
        </dd>
      </div>
      {row.officialResolved ? (
        <div>
          <dt>Official tests alone, %</dt>
          <dd>
            <b>{formatPct(row.officialResolved.pct)}</b>
            <small>
              {row.probeRejected
                ? `probes reject ${row.probeRejected.rejected} of ${row.probeRejected.officialResolved}`
                : ""}
            </small>
          </dd>
        </div>
      ) : null}
      {last ? (
        <div>
          <dt>pass@{last.k}, %</dt>
          <dd>
            <b>{formatPct(last.passAt.pct)}</b>
            <small>
              pass^{last.k} {formatPct(last.passHat.pct)}
            </small>
          </dd>
        </div>
      ) : null}
    </dl>
  );
}

/** One suite version that the entry stands on. */
function Standing({ entry, standing }: { entry: EntryDetail; standing: EntryStanding }) {
  const { suite, row, tasks, repeats, failures, published, neighbours } = standing;
  const name = `${suite.title} ${suite.version}`;
  const id = `${suite.slug}-${suite.version}`;
  return (
    <section aria-labelledby={id} className="standing">
      <h2 id={id}>
        <a href={standingHref(entry, standing)}>{name}</a> <CustomBadge reasons={standing.custom} />
      </h2>
      <p className="standing-sentence">{standingSentence(standing)}</p>
      <Headline standing={standing} />
      {row ? (
        <div className="strip-line">
          <TaskStrip row={row} href={taskListHref({ suite: suite.slug, version: suite.version })} />
          {row.tasks ? null : <p className="aside">Counts per category: which tasks they are was not published.</p>}
        </div>
      ) : null}
      {neighbours.length > 0 ? (
        <p className="aside entry-compare">
          Compare with{" "}
          {neighbours.map((other, index) => (
            <span key={other.slug}>
              {index > 0 ? ", " : ""}
              <a href={compareHref({ a: entry.slug, b: other.slug, suite: suite.slug, version: suite.version })}>
                <bdi>{other.model}</bdi>
              </a>
            </span>
          ))}
        </p>
      ) : null}
      <div className="two entry-two">
        {row ? (
          <div>
            <h3>Figures</h3>
            <EntryFigures standing={standing} />
            <h3>By category</h3>
            <EntryCategories standing={standing} />
          </div>
        ) : null}
        <div>
          <h3>How this row was made</h3>
          <EntryMade entry={entry} standing={standing} />
        </div>
      </div>
      {published ? (
        <div className="entry-part">
          <h3>What was published</h3>
          <EntryPublished published={published} />
        </div>
      ) : null}
      {repeats ? (
        <div className="entry-part">
          <h3>Repeated attempts</h3>
          <p className="aside">
            {repeats.fewest === repeats.most ? repeats.fewest : `${repeats.fewest} to ${repeats.most}`} attempts at each
            attempted task. pass@k is the chance that at least one of k attempts resolves a task, pass^k that all of
            them do: unbiased per task, averaged over the suite’s tasks.
          </p>
          <EntryRepeats repeats={repeats} />
        </div>
      ) : null}
      {failures ? (
        <div className="entry-part">
          <h3>What it fails by</h3>
          <EntryFailures standing={standing} failures={failures} />
          <p className="aside">
            <a href={`/self-tests#entry-${entry.slug}`}>What its own tests check</a>
          </p>
        </div>
      ) : null}
      <div className="entry-part">
        <h3>Tasks</h3>
        {tasks ? (
          <EntryTasks standing={standing} tasks={tasks} />
        ) : (
          <p className="empty">
            {published
              ? "The publication states no per-task outcomes, so none stand here."
              : "No attempt has been graded yet; tasks appear here with the first grading."}
          </p>
        )}
      </div>
      <div className="entry-part">
        <h3>Submissions</h3>
        <EntrySubmissions standing={standing} />
      </div>
    </section>
  );
}

/** One entry's whole story, over every suite version that it stands on. */
export function EntryPage({ entry }: { entry: EntryDetail }) {
  const { candidate, slug, standings } = entry;
  return (
    <>
      <StructuredData data={entryDataset(entry)} />
      <StripPatterns />
      <div className="page-head">
        <Crumbs trail={[{ href: "/", label: "Leaderboard" }]} here={<bdi>{candidate.model}</bdi>} />
        <h1>
          <bdi>{candidate.model}</bdi>
        </h1>
        <p className="task-facts">
          <ConfigurationLine {...entry} />
        </p>
        <p className="aside entry-forms">
          <a href={`/api/v1/entries/${slug}`}>JSON</a>
          <a href={`/api/v1/entries/${slug}/tasks.csv`} download={`${slug}-tasks.csv`}>
            Tasks as CSV
          </a>
          <a href={`/badge/${slug}.svg`}>Badge</a>
        </p>
      </div>
      {standings.map((standing) => (
        <Standing key={`${standing.suite.slug} ${standing.suite.version}`} entry={entry} standing={standing} />
      ))}
    </>
  );
}
