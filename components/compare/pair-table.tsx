import { ScrollRegion } from "@/components/ui/scroll-region";
import type { CompareAnswer, PairedTest } from "@/lib/contract/compare-api";
import { formatP, missingValue } from "@/lib/format/numbers";
import { compareHref } from "@/lib/prepare/compare-view";
import { methodLabels, pairInWords, pairNames, reasonLabels } from "@/lib/prepare/compare-words";

/** A p-value, or the two that bound it. */
export function PValue({ p }: { p: PairedTest["p"] | undefined }) {
  if (!p) return missingValue;
  const [least, most] = p;
  return least === most ? formatP(least) : `${formatP(least)} to ${formatP(most)}`;
}

/** Pairs worth a look, by why they are. */
export function PairTable({ answer: { pairs, suite } }: { answer: CompareAnswer }) {
  const reasons = [...new Set(pairs.map(({ reason }) => reason))];
  return (
    <section aria-labelledby="pairs">
      <h2 id="pairs">Pairs worth a look</h2>
      <ScrollRegion label="Pairs worth a look">
        <table className="plain pair-table">
          <caption className="sr-only">Pairs of entries, each with what its paired test says</caption>
          <thead>
            <tr>
              <th scope="col">Pair</th>
              <th scope="col">Finding</th>
              <th scope="col">Test</th>
              <th scope="col" className="num">
                p
              </th>
              <th scope="col" className="num">
                p, Holm
              </th>
            </tr>
          </thead>
          {reasons.map((reason) => (
            <tbody key={reason}>
              <tr className="property">
                <th scope="rowgroup" colSpan={5}>
                  {reasonLabels[reason]}
                </th>
              </tr>
              {pairs
                .filter((pair) => pair.reason === reason)
                .map(({ a, b, test }) => {
                  const [nameA, nameB] = pairNames(a, b);
                  return (
                    <tr key={`${a.slug} ${b.slug}`}>
                      <th scope="row">
                        <a href={compareHref({ a: a.slug, b: b.slug, suite: suite.slug })}>
                          {nameA} <span className="muted">against</span> {nameB}
                        </a>
                      </th>
                      <td>{pairInWords(test)}</td>
                      <td>{methodLabels[test.method]}</td>
                      <td className="num">
                        <PValue p={test.p} />
                      </td>
                      <td className="num">
                        <PValue p={test.adjusted?.p} />
                      </td>
                    </tr>
                  );
                })}
            </tbody>
          ))}
        </table>
      </ScrollRegion>
      <p className="aside">
        A finding such as “3 to 1” counts the tasks that one of the two resolves alone. p is of the pair looked at
        alone; Holm’s adjustment runs over every pair of the board. Where only counts were published, two numbers bound
        p.
      </p>
    </section>
  );
}
