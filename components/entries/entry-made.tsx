import type { ReactNode } from "react";
import { TierBadge } from "@/components/results/tier-badge";
import type { CustomReason, EntryDetail, EntryStanding } from "@/lib/contract/entry-api";
import { formatNumber, formatUsd, missingValue, plural } from "@/lib/format/numbers";
import { formatDay } from "@/lib/format/times";
import { conditionLabels, networkLabels, tierMeanings } from "@/lib/prepare/labels";
import { CustomBadge } from "./custom-badge";

const notStated = (
  <>
    {missingValue} <span className="count">not stated</span>
  </>
);

/** The suite's standard beside what differs from it. */
function Standard({ custom, parts }: { custom: readonly CustomReason[]; parts: readonly CustomReason["part"][] }) {
  const reasons = custom.filter(({ part }) => parts.includes(part));
  return reasons.length > 0 ? (
    <span className="count"> (the suite’s standard: {reasons.map(({ standard }) => standard).join(", ")})</span>
  ) : null;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Budget({ budget }: { budget: EntryDetail["candidate"]["budget"] }) {
  const limits = [
    ["time", budget.timeMin === null ? null : `${formatNumber(budget.timeMin)} min`],
    ["cost", budget.costUsd === null ? null : `$ ${formatUsd(budget.costUsd)}`],
    ["tokens", budget.tokensM === null ? null : `${formatNumber(budget.tokensM, 1)} M`],
    ["steps", budget.steps === null ? null : formatNumber(budget.steps)],
  ] as const;
  if (limits.every(([, limit]) => limit === null)) return notStated;
  return limits.map(([name, limit]) => `${name} ${limit ?? missingValue}`).join(", ");
}

/** What ran, under which conditions. */
function Configuration({ entry, custom }: { entry: EntryDetail; custom: readonly CustomReason[] }) {
  const { candidate } = entry;
  if (candidate.kind === "reference") {
    return <Fact name="Patches">written by the maintainers, by no agent</Fact>;
  }
  const { skill } = candidate;
  return (
    <>
      <Fact name="Agent">
        {candidate.agent ? <bdi>{[candidate.agent, candidate.agentVersion].filter(Boolean).join(" ")}</bdi> : notStated}
      </Fact>
      <Fact name="Effort">{candidate.reasoningEffort ? <bdi>{candidate.reasoningEffort}</bdi> : notStated}</Fact>
      <Fact name="Prompt">
        {conditionLabels[candidate.promptCondition]}
        <Standard custom={custom} parts={["prompt"]} />
      </Fact>
      <Fact name="Skill">
        {skill ? (
          <>
            <bdi>{skill.name}</bdi> <code title={skill.digest}>{skill.digest.slice(0, 12)}</code>
          </>
        ) : (
          "none"
        )}
        <Standard custom={custom} parts={["skill"]} />
      </Fact>
      <Fact name="Network">
        {candidate.networkPolicy === "not-stated" ? notStated : networkLabels[candidate.networkPolicy]}
        <Standard custom={custom} parts={["network"]} />
      </Fact>
      <Fact name="Budget per task">
        <Budget budget={candidate.budget} />
        <Standard custom={custom} parts={["time", "cost", "tokens", "steps"]} />
      </Fact>
    </>
  );
}

/** How and where the counting gradings ran. */
function Gradings({ made }: { made: NonNullable<EntryStanding["made"]> }) {
  const [from, to] = [formatDay(made.firstStartedAt), formatDay(made.lastFinishedAt)];
  const several = made.hosts.length > 1 || made.executors.length > 1;
  const times = (gradings: number) => (several ? ` (${gradings} ${plural(gradings, "grading")})` : "");
  return (
    <>
      <Fact name="Graded">
        {from === to ? from : `${from} to ${to}`}, {made.gradings} {plural(made.gradings, "grading")} counted
      </Fact>
      <Fact name="Hardware">
        {made.hosts.map(({ hardware, gradings }) => `${hardware}${times(gradings)}`).join("; ")}
      </Fact>
      <Fact name="Executor">
        {made.executors
          .map(
            ({ executor, sandboxed, gradings }) =>
              `${executor}, ${sandboxed ? "sandboxed" : "no sandbox"}${times(gradings)}`,
          )
          .join("; ")}
      </Fact>
      <Fact name="Hosts of">
        {made.operators.length > 0 ? <bdi>{made.operators.join(", ")}</bdi> : "the vendor’s own, not known here"}
      </Fact>
      <Fact name="Runner">
        {plural(made.runnerVersions.length, "version")} {made.runnerVersions.join(", ")}
      </Fact>
    </>
  );
}

/** How the row was made: configuration, provenance, and where it was graded. What is not stated is said to be. */
export function EntryMade({ entry, standing }: { entry: EntryDetail; standing: EntryStanding }) {
  const { row, made, custom, published } = standing;
  return (
    <>
      <dl className="facts">
        <Fact name="Evidence">
          {row ? (
            <>
              <TierBadge tier={row.tier} /> {tierMeanings[row.tier]}
            </>
          ) : (
            "none yet"
          )}
        </Fact>
        <Fact name="Submitted by">
          {row ? <bdi>{row.organization}</bdi> : <bdi>{standing.submissions[0]?.organization}</bdi>}
        </Fact>
        <Configuration entry={entry} custom={custom} />
        {made ? (
          <Gradings made={made} />
        ) : published ? (
          <>
            <Fact name="Graded">{notStated}</Fact>
            <Fact name="Hardware">{notStated}</Fact>
            <Fact name="Runner">{notStated}</Fact>
          </>
        ) : null}
      </dl>
      {custom.length > 0 ? (
        <p className="aside">
          <CustomBadge reasons={custom} /> This entry differs from the suite’s standard configuration, so its row and
          theirs measure not quite the same.
        </p>
      ) : null}
    </>
  );
}
