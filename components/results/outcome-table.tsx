import type { ReactNode } from "react";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { TestKind } from "@/lib/contract/vocabulary";
import { missingValue } from "@/lib/format/numbers";
import { formatDuration } from "@/lib/format/times";
import { splitTestId } from "@/lib/prepare/attempt";
import { propertyLabels } from "@/lib/prepare/labels";
import type { OutcomeRow, OutcomeSort } from "@/lib/prepare/outcomes";
import { OutcomeStatusText, RankMark } from "./outcome-status";

const titles: Record<TestKind, string> = { official: "Official tests", probe: "Probes" };

function TestName({ row }: { row: OutcomeRow }) {
  const { file, name } = splitTestId(row.id);
  return (
    <th scope="row" className="test-name">
      {row.anchor ? (
        <a href={`#${row.anchor}`}>
          <code>{name}</code>
        </a>
      ) : (
        <code>{name}</code>
      )}
      <small>{file}</small>
      {row.requirement ? <small className="requirement">{row.requirement}</small> : null}
      {row.required ? null : (
        <small className="requirement">Not required{row.notRequiredReason ? `: ${row.notRequiredReason}` : ""}</small>
      )}
    </th>
  );
}

interface Props {
  kind: TestKind;
  /** Every test of this kind. */
  all: readonly OutcomeRow[];
  /** Those to show, in their order. */
  shown: readonly OutcomeRow[];
  /** What stands in the header of a column that sorts. */
  header: (sort: OutcomeSort, label: ReactNode) => ReactNode;
  sorted: (sort: OutcomeSort) => "ascending" | "descending" | undefined;
}

/** Tests of one kind with what they check and what each rank said; nothing where none is to be shown. */
export function OutcomeTable({ kind, all, shown, header, sorted }: Props) {
  if (shown.length === 0) return null;
  const required = all.filter((row) => row.required);
  const sortable = (sort: OutcomeSort, label: string, className?: string) => (
    <th scope="col" className={className} aria-sort={sorted(sort)}>
      {header(
        sort,
        <>
          {label}
          <span className="sort-mark" aria-hidden="true" />
        </>,
      )}
    </th>
  );
  return (
    <ScrollRegion label={titles[kind]}>
      <table className="plain outcomes">
        <caption>
          {titles[kind]}{" "}
          <span className="count">
            {required.filter((row) => row.status === "passed").length} of {required.length} required pass
          </span>
        </caption>
        <thead>
          <tr>
            {sortable("test", "Test")}
            {sortable("checks", "Checks")}
            {sortable("expectation", "Before, after")}
            {sortable("outcome", "Outcome")}
            <th scope="col">Ranks</th>
            {sortable("time", "Time", "num")}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.id}>
              <TestName row={row} />
              <td>
                {row.property ? propertyLabels[row.property] : missingValue}
                {row.condition ? <small>{row.condition}</small> : null}
              </td>
              <td>
                <abbr
                  title={
                    row.expectation === "f2p"
                      ? "fails before the change, passes after"
                      : "passes before and after the change"
                  }
                >
                  {row.expectation === "f2p" ? "✗ → ✓" : "✓ → ✓"}
                </abbr>
              </td>
              <td>
                <OutcomeStatusText status={row.status} />
              </td>
              <td>
                <span className="rank-grid">
                  {row.ranks.map(([rank, status]) => (
                    <RankMark key={rank} rank={rank} status={status} root={rank === row.rootRank} />
                  ))}
                </span>
              </td>
              <td className="num">{formatDuration(row.durationMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
