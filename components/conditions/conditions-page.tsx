import { ScrollRegion } from "@/components/ui/scroll-region";
import type { ConditionDifference, ConditionPair, ConditionsAnswer } from "@/lib/contract/conditions-api";
import { formatNumber, formatP, formatPct, missingValue, plural } from "@/lib/format/numbers";
import { compareHref } from "@/lib/prepare/compare-view";
import { conditionsSentence, formatPoints } from "@/lib/prepare/conditions-finding";
import { entryHref } from "@/lib/prepare/entry-twins";
import { conditionLabels } from "@/lib/prepare/labels";
import { PairTasks } from "./pair-tasks";

type Suite = ConditionsAnswer["suites"][number];

const headings: Record<ConditionDifference, string> = {
  prompt: "Prompt: the pull request’s description against the interface prompt",
  skill: "Skill: with it against without it",
};

const columns: Record<ConditionDifference, { base: string; changed: string }> = {
  prompt: { base: "Interface", changed: "Description" },
  skill: { base: "Without", changed: "With" },
};

const deltaLabels = {
  time: { label: "Time", unit: "min", decimals: 1 },
  cost: { label: "Cost", unit: "$", decimals: 2 },
  tokens: { label: "Tokens", unit: "M", decimals: 2 },
  steps: { label: "Steps", unit: "", decimals: 0 },
} as const;

/** What is the same on both sides beside model and agent. */
function sharedLine({ differs, entry, base, changed }: ConditionPair): string {
  const agent = entry.agent ? [entry.agent, entry.agentVersion].filter(Boolean).join(" ") : "agent not stated";
  return [
    agent,
    entry.reasoningEffort ? `effort ${entry.reasoningEffort}` : null,
    differs === "skill"
      ? `skill ${changed.skill}, ${conditionLabels[base.promptCondition]}`
      : base.skill
        ? `skill ${base.skill}`
        : null,
  ]
    .filter((part) => part !== null)
    .join(", ");
}

const signed = (value: number, decimals: number) =>
  `${value > 0 ? "+" : ""}${formatNumber(value, decimals)}`.replace(/^\+(0(?:\.0+)?)$/, "$1");

const range = (interval: readonly [number, number] | null, decimals: number) =>
  interval ? `${signed(interval[0], decimals)} to ${signed(interval[1], decimals)}` : null;

function Side({ side }: { side: ConditionPair["base"] }) {
  const { resolved } = side;
  return (
    <td className="num">
      <a href={entryHref(side.slug)}>{formatPct(resolved.pct)}</a>
      {resolved.resolved === null ? null : (
        <small>
          {resolved.resolved}/{resolved.total}
        </small>
      )}
    </td>
  );
}

function PairRow({ suite, pair, deltas }: { suite: Suite; pair: ConditionPair; deltas: readonly DeltaMetric[] }) {
  const { base, changed, test, resolved, official } = pair;
  const href = compareHref({ a: changed.slug, b: base.slug, suite: suite.suite.slug, version: suite.suite.version });
  return (
    <tr>
      <th scope="row">
        <a href={href}>
          <bdi>{pair.entry.model}</bdi>
        </a>
        <small>
          <bdi>{sharedLine(pair)}</bdi>
        </small>
      </th>
      <Side side={base} />
      <Side side={changed} />
      <td className="num">
        <b>{formatPoints(resolved.points)}</b>
        <small>{range(resolved.interval, 1)}</small>
      </td>
      <td className="num">
        {formatPoints(official.points)}
        <small>{range(official.interval, 1)}</small>
      </td>
      <td className="num">{test.counts.onlyBase}</td>
      <td className="num">{test.counts.onlyChanged}</td>
      <td className="num">
        {formatP(test.p)}
        <small>{formatP(test.pAdjusted)} Holm</small>
      </td>
      {deltas.map((metric) => {
        const delta = pair.deltas.find((one) => one.metric === metric);
        const { decimals } = deltaLabels[metric];
        return (
          <td key={metric} className="num">
            {delta ? signed(delta.difference, decimals) : missingValue}
            {delta ? <small>{range(delta.interval, decimals)}</small> : null}
          </td>
        );
      })}
    </tr>
  );
}

type DeltaMetric = keyof typeof deltaLabels;

function PairTable({ suite, differs, pairs }: { suite: Suite; differs: ConditionDifference; pairs: ConditionPair[] }) {
  const { base, changed } = columns[differs];
  const caption = `${headings[differs]}, on ${suite.suite.title} ${suite.suite.version}`;
  const deltas = (Object.keys(deltaLabels) as DeltaMetric[]).filter((metric) =>
    pairs.some((pair) => pair.deltas.some((delta) => delta.metric === metric)),
  );
  return (
    <ScrollRegion label={caption}>
      <table className="plain condition-pairs">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Entry</th>
            <th scope="col" className="num">
              {base}
              <small>resolved, %</small>
            </th>
            <th scope="col" className="num">
              {changed}
              <small>resolved, %</small>
            </th>
            <th scope="col" className="num">
              Difference
              <small>points, 95 % interval</small>
            </th>
            <th scope="col" className="num">
              Official alone
              <small>points, 95 % interval</small>
            </th>
            <th scope="col" className="num">
              Only {base.toLowerCase()}
              <small>tasks</small>
            </th>
            <th scope="col" className="num">
              Only {changed.toLowerCase()}
              <small>tasks</small>
            </th>
            <th scope="col" className="num">
              p<small>exact</small>
            </th>
            {deltas.map((metric) => (
              <th key={metric} scope="col" className="num">
                {deltaLabels[metric].label}
                <small>{deltaLabels[metric].unit ? `${deltaLabels[metric].unit} more` : "more"}</small>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <PairRow key={`${pair.base.slug} ${pair.changed.slug}`} suite={suite} pair={pair} deltas={deltas} />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** One suite version: a table for each kind of difference, and the tasks in which the sides of a pair differ. */
function SuitePairs({ suite }: { suite: Suite }) {
  const kinds = (["prompt", "skill"] as const).flatMap((differs) => {
    const pairs = suite.pairs.filter((pair) => pair.differs === differs);
    return pairs.length > 0 ? [{ differs, pairs }] : [];
  });
  const name = `${suite.suite.title} ${suite.suite.version}`;
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      {kinds.map(({ differs, pairs }) => (
        <div key={differs} className="condition-kind">
          <h3>{headings[differs]}</h3>
          <p className="standing-sentence">{conditionsSentence(differs, pairs)}</p>
          <PairTable suite={suite} differs={differs} pairs={pairs} />
          {pairs.map((pair) => (
            <PairTasks key={`${pair.base.slug} ${pair.changed.slug}`} pair={pair} suite={suite.suite} />
          ))}
        </div>
      ))}
      {suite.waiting > 0 ? (
        <p className="aside">
          {suite.waiting} more {plural(suite.waiting, "pair")} {plural(suite.waiting, "waits", "wait")} for gradings and{" "}
          {plural(suite.waiting, "is", "are")} not compared yet.
        </p>
      ) : null}
    </section>
  );
}

function Published({ published }: { published: ConditionsAnswer["published"] }) {
  const sources = [...new Map(published.map((one) => [one.url, one])).values()];
  return (
    <section aria-labelledby="published">
      <h2 id="published">As published</h2>
      {published.length > 0 ? (
        <>
          <p className="aside">
            Stated in the text of{" "}
            {sources.map((source, index) => (
              <span key={source.url}>
                {index > 0 ? ", " : ""}
                <a href={source.url}>{source.title}</a>
              </span>
            ))}
            . Per-task outcomes under either condition were not published, so nothing here can be paired or tested.
          </p>
          <dl className="claims">
            {published.map((one) => (
              <div key={`${one.url} ${one.statement}`}>
                <dt>
                  <a href={`/published#${one.table}`} className="hit">
                    {one.statement}
                  </a>
                </dt>
                <dd>
                  {one.printed} {one.unit}
                </dd>
              </div>
            ))}
          </dl>
        </>
      ) : (
        <p className="empty">No publication’s figures on prompts or skills stand here yet.</p>
      )}
    </section>
  );
}

/** Prompt conditions and skills in pairs: graded here, and apart from it what was published. */
export function ConditionsPage({ conditions }: { conditions: ConditionsAnswer }) {
  const { suites, published } = conditions;
  return (
    <>
      <div className="page-head">
        <h1>Prompt conditions and skills</h1>
        <p className="lead">
          The same model, agent, effort, network policy and budget, graded twice on the same tasks: once under the
          interface prompt and once under the pull request’s description, or once without a skill and once with it.
        </p>
        <p className="aside entry-forms">
          <a href="/api/v1/conditions">JSON</a>
        </p>
      </div>
      {suites.map((suite) => (
        <SuitePairs key={`${suite.suite.slug} ${suite.suite.version}`} suite={suite} />
      ))}
      {suites.length === 0 ? (
        <section aria-labelledby="pairs">
          <h2 id="pairs">Graded here</h2>
          <div className="empty">
            <p>
              No configuration has been graded under two prompts, or with and without a skill, on one suite version.
            </p>
            <p>
              A pair appears here when two published submissions name the same model, agent, effort, network policy and
              budget in their candidate documents and differ in <code>promptCondition</code> alone, or in{" "}
              <code>skill</code> alone, and every grading of both is in.
            </p>
          </div>
        </section>
      ) : (
        <section aria-labelledby="reading">
          <h2 id="reading">How to read this</h2>
          <p className="aside">
            Differences are paired by task and averaged over the suite’s tasks; intervals are seeded bootstraps over
            tasks. p is exact McNemar where each task has one attempt, else a paired sign-flip test; below it stands
            Holm’s adjustment over the pairs of the suite version. “More” is the changed condition minus the other, over
            the tasks that state the figure under both.
          </p>
        </section>
      )}
      <Published published={published} />
    </>
  );
}
