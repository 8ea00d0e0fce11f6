import { entryLine } from "@/components/leaderboard/board-table";
import { ShareBar } from "@/components/leaderboard/share-bar";
import { TierBadge } from "@/components/results/tier-badge";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Share } from "@/lib/contract/api";
import type { CompareAnswer, Comparison } from "@/lib/contract/compare-api";
import { formatNumber, formatPct, formatRankSet, missingValue } from "@/lib/format/numbers";
import { entryOf, pairNames } from "@/lib/prepare/compare-words";
import { categoryLabels, conditionLabels } from "@/lib/prepare/labels";
import { DeltaTable } from "./delta-table";
import { FailureTypes } from "./failure-types";
import { OfficialTable } from "./official-table";
import { TaskTable } from "./task-table";
import { WhoResolves } from "./who-resolves";

type Side = Comparison["a"];

function SideHeader({ letter, name, side }: { letter: string; name: string; side: Side }) {
  const { row, skill, promptCondition } = side;
  return (
    <th scope="col">
      <span className="side">{letter}</span>{" "}
      <a href={`/submissions/${row.submissionId}`} className="side-name">
        {name}
      </a>
      <small>
        <bdi>{entryLine(row)}</bdi>, {conditionLabels[promptCondition]}
        {skill ? (
          <>
            , skill <bdi>{skill}</bdi>
          </>
        ) : null}
        {row.provisional ? ", provisional" : ""}
      </small>
    </th>
  );
}

function ShareText({ share }: { share: Share | null | undefined }) {
  if (!share) return missingValue;
  return (
    <>
      {formatPct(share.pct)}
      {share.resolved === null ? null : (
        <span className="count">
          {" "}
          {share.resolved}/{share.total}
        </span>
      )}
    </>
  );
}

/** The two rows side by side: what each board says of them. */
function Sides({ comparison }: { comparison: Comparison }) {
  const sides = [comparison.a, comparison.b] as const;
  const [nameA, nameB] = pairNames(entryOf(comparison.a), entryOf(comparison.b));
  const shared = comparison.a.row.byCategory.map(({ category }) => category);
  const line = (label: string, cell: (side: Side) => React.ReactNode) => (
    <tr>
      <th scope="row">{label}</th>
      {sides.map((side, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two sides, always in this order
        <td key={index}>{cell(side)}</td>
      ))}
    </tr>
  );
  return (
    <ScrollRegion label="The two entries">
      <table className="plain sides">
        <caption className="sr-only">The two entries side by side</caption>
        <thead>
          <tr>
            <td />
            <SideHeader letter="A" name={nameA} side={comparison.a} />
            <SideHeader letter="B" name={nameB} side={comparison.b} />
          </tr>
        </thead>
        <tbody>
          {line("Resolved, %", ({ row }) => (
            <>
              <b>
                <ShareText share={row.resolved} />
              </b>
              <ShareBar share={row.resolved} official={row.officialResolved} />
            </>
          ))}
          {line("Rank set", ({ row }) =>
            row.rankSet ? formatRankSet(row.rankSet) : <span className="muted">unranked</span>,
          )}
          {shared.map((category) => (
            <tr key={category}>
              <th scope="row">{categoryLabels[category]}, %</th>
              {sides.map(({ row }) => (
                <td key={row.submissionId}>
                  <ShareText share={row.byCategory.find((one) => one.category === category)?.share} />
                </td>
              ))}
            </tr>
          ))}
          {line("Tests passed, %", ({ row }) => formatNumber(row.passedPct, 1))}
          {line("Evidence", ({ row }) => (
            <TierBadge tier={row.tier} />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** Everything that two entries differ in, from the verdicts to what each fails by. */
export function ComparisonSections({ comparison, suite }: { comparison: Comparison; suite: CompareAnswer["suite"] }) {
  return (
    <>
      <section aria-label="The two entries">
        <Sides comparison={comparison} />
      </section>
      <WhoResolves comparison={comparison} suite={suite} />
      <OfficialTable comparison={comparison} />
      <TaskTable comparison={comparison} suite={suite} />
      <DeltaTable comparison={comparison} />
      <FailureTypes comparison={comparison} />
    </>
  );
}
