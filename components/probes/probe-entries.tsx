import { entryLine } from "@/components/leaderboard/board-table";
import { ShareBar } from "@/components/leaderboard/share-bar";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Share } from "@/lib/contract/api";
import type { PooledRejection, ProbedRow, ProbesAnswer } from "@/lib/contract/probes-api";
import { formatInterval, formatPct, formatRankSet, missingValue } from "@/lib/format/numbers";

function Counted({ share }: { share: Share | null }) {
  if (!share) return missingValue;
  return (
    <>
      {formatPct(share.pct)}
      {share.resolved === null ? null : (
        <small>
          {share.resolved}/{share.total}
        </small>
      )}
    </>
  );
}

/** A rejection as per cent, with its counts. */
export function RejectedShare({
  share,
}: {
  share: Pick<PooledRejection, "pct" | "rejected" | "officialResolved"> | null;
}) {
  if (!share) return missingValue;
  return (
    <>
      {formatPct(share.pct)}
      <small>
        {share.rejected}/{share.officialResolved}
      </small>
    </>
  );
}

function Row({ row, ranked }: { row: ProbedRow; ranked: boolean }) {
  const { rankSet, officialRankSet, rejected } = row;
  const moved = rankSet && officialRankSet && rankSet.join() !== officialRankSet.join();
  return (
    <tr>
      <th scope="row">
        <a href={`/submissions/${row.submissionId}`}>
          <bdi>{ranked ? row.entry.model : row.entry.model.replace(/^reference:\s*/, "")}</bdi>
        </a>
        <small>
          <bdi>{entryLine(row)}</bdi>
          {row.provisional ? ", provisional" : ""}
        </small>
      </th>
      <td className="num">
        <Counted share={row.officialResolved} />
      </td>
      <td className="num">
        <Counted share={row.resolved} />
      </td>
      <td className="probe-bar">
        <ShareBar share={row.resolved} official={row.officialResolved} />
      </td>
      <td className="num rejected">
        <RejectedShare share={rejected} />
      </td>
      <td className="num">{rejected?.interval ? formatInterval(rejected.interval) : missingValue}</td>
      {ranked ? (
        <>
          <td className="num">{formatRankSet(officialRankSet)}</td>
          <td className="num">{moved ? <b>{formatRankSet(rankSet)}</b> : formatRankSet(rankSet)}</td>
        </>
      ) : null}
    </tr>
  );
}

function Pooled({ label, pooled, ranked }: { label: string; pooled: PooledRejection; ranked: boolean }) {
  if (pooled.pct === null) return null;
  return (
    <tr className="pooled">
      <th scope="row">{label}</th>
      <td />
      <td />
      <td className="probe-bar" />
      <td className="num rejected">
        <RejectedShare share={pooled} />
      </td>
      <td className="num">{pooled.interval ? formatInterval(pooled.interval) : missingValue}</td>
      {ranked ? (
        <>
          <td />
          <td />
        </>
      ) : null}
    </tr>
  );
}

function EntryTable(props: {
  caption: string;
  rows: readonly ProbedRow[];
  ranked: boolean;
  pooled: PooledRejection;
  label: string;
}) {
  const { caption, rows, ranked, pooled, label } = props;
  return (
    <ScrollRegion label={caption}>
      <table className="plain probed">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{ranked ? "Entry" : "Patch set"}</th>
            <th scope="col" className="num">
              Official tests
              <small>resolved, %</small>
            </th>
            <th scope="col" className="num">
              With probes
              <small>resolved, %</small>
            </th>
            <th scope="col" className="probe-bar">
              <span className="sr-only">Resolved as a bar, with 95 % interval</span>
            </th>
            <th scope="col" className="num">
              Rejected
              <small>of official-resolved, %</small>
            </th>
            <th scope="col" className="num">
              95 % interval
            </th>
            {ranked ? (
              <>
                <th scope="col" className="num">
                  Rank set
                  <small>official tests</small>
                </th>
                <th scope="col" className="num">
                  Rank set
                  <small>with probes</small>
                </th>
              </>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.submissionId} row={row} ranked={ranked} />
          ))}
          <Pooled label={label} pooled={pooled} ranked={ranked} />
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** Every row of the board by official tests alone and with probes; reference sets apart, ranking nobody. */
export function ProbeEntries({ answer }: { answer: ProbesAnswer }) {
  const { rows, references, pooled, mutants } = answer;
  const graded = rows.filter(({ officialResolved }) => officialResolved);
  return (
    <>
      {graded.length > 0 ? (
        <EntryTable caption="Entries" rows={graded} ranked pooled={pooled} label="All ranked entries, pooled" />
      ) : (
        <p className="empty">
          {rows.length > 0
            ? "No row of this board states what its official tests alone would resolve."
            : "No model has been graded on this board yet."}
        </p>
      )}
      {references.length > 0 ? (
        <EntryTable
          caption="Reference patch sets, unranked"
          rows={references}
          ranked={false}
          pooled={mutants}
          label="All mutants, pooled"
        />
      ) : null}
    </>
  );
}
