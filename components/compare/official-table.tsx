import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Share } from "@/lib/contract/api";
import type { Comparison, PairedTest } from "@/lib/contract/compare-api";
import { formatPct, missingValue } from "@/lib/format/numbers";
import { PValue } from "./pair-table";

function Counted({ share }: { share: Share | null }) {
  if (!share) return missingValue;
  return (
    <>
      {formatPct(share.pct)}
      <small>{share.resolved === null ? "mean over attempts" : `${share.resolved}/${share.total}`}</small>
    </>
  );
}

function Line({ label, a, b, test }: { label: string; a: Share | null; b: Share | null; test: PairedTest | null }) {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td className="num">
        <Counted share={a} />
      </td>
      <td className="num">
        <Counted share={b} />
      </td>
      <td className="num">{test?.counts?.onlyA ?? missingValue}</td>
      <td className="num">{test?.counts?.onlyB ?? missingValue}</td>
      <td className="num">
        <PValue p={test?.p} />
      </td>
    </tr>
  );
}

function Rejected({ side: { row } }: { side: Comparison["a"] }) {
  if (!row.probeRejected) return missingValue;
  const { rejected, officialResolved } = row.probeRejected;
  return (
    <>
      {officialResolved > 0 ? formatPct((100 * rejected) / officialResolved) : missingValue}
      <small>
        {rejected}/{officialResolved}
      </small>
    </>
  );
}

/** What the official tests alone would say of the pair, against what they say with the probes. */
export function OfficialTable({ comparison }: { comparison: Comparison }) {
  const { a, b, test, officialTest } = comparison;
  if (!a.row.officialResolved && !b.row.officialResolved) return null;
  return (
    <section aria-labelledby="official">
      <h2 id="official">Official tests alone, and with probes</h2>
      <ScrollRegion label="Official tests alone, and with probes">
        <table className="plain">
          <caption className="sr-only">Tasks resolved by official tests alone, and with probes</caption>
          <thead>
            <tr>
              <th scope="col">Resolved by</th>
              <th scope="col" className="num">
                A, %
              </th>
              <th scope="col" className="num">
                B, %
              </th>
              <th scope="col" className="num">
                Only A
              </th>
              <th scope="col" className="num">
                Only B
              </th>
              <th scope="col" className="num">
                p, alone
              </th>
            </tr>
          </thead>
          <tbody>
            <Line
              label="Official tests alone"
              a={a.row.officialResolved}
              b={b.row.officialResolved}
              test={officialTest}
            />
            <Line label="Official tests and probes" a={a.row.resolved} b={b.row.resolved} test={test} />
            <tr>
              <th scope="row">Rejected by probes</th>
              <td className="num">
                <Rejected side={a} />
              </td>
              <td className="num">
                <Rejected side={b} />
              </td>
              <td />
              <td />
              <td />
            </tr>
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
