import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Comparison } from "@/lib/contract/compare-api";

/** What each side fails by: attempts with at least one failing case of a type. */
export function FailureTypes({ comparison: { failures } }: { comparison: Comparison }) {
  if (!failures) return null;
  return (
    <section aria-labelledby="fails">
      <h2 id="fails">What each fails by</h2>
      {failures.length === 0 ? (
        <p className="empty">No attempt of either side has a failing test.</p>
      ) : (
        <>
          <ScrollRegion label="What each fails by">
            <table className="plain">
              <caption className="sr-only">Attempts with at least one failing case, by type of failure</caption>
              <thead>
                <tr>
                  <th scope="col">Type</th>
                  <th scope="col">Class</th>
                  <th scope="col" className="num">
                    A
                  </th>
                  <th scope="col" className="num">
                    B
                  </th>
                </tr>
              </thead>
              <tbody>
                {failures.map((one) => (
                  <tr key={`${one.class} ${one.type}`}>
                    <th scope="row">{one.title}</th>
                    <td>{one.class}</td>
                    <td className="num">{one.a}</td>
                    <td className="num">{one.b}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollRegion>
          <p className="aside">
            Attempts with at least one failing case of the type; an attempt can count under several types.
          </p>
        </>
      )}
    </section>
  );
}
