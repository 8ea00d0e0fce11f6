import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Comparison } from "@/lib/contract/compare-api";
import { formatNumber, missingValue } from "@/lib/format/numbers";
import { deltaNote, differenceText, metricWords } from "@/lib/prepare/compare-words";

/** What the agents' runs took, as differences over the tasks that both state. */
export function DeltaTable({ comparison: { deltas } }: { comparison: Comparison }) {
  const paired = deltas.some(({ tasks }) => tasks > 0);
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">What the runs took</h2>
      {deltas.length === 0 ? (
        <p className="empty">Neither time, cost, tokens nor steps are stated on both sides.</p>
      ) : (
        <>
          <ScrollRegion label="What the runs took">
            <table className="plain">
              <caption className="sr-only">Time, cost, tokens and steps per task: A, B and the difference</caption>
              <thead>
                <tr>
                  <th scope="col">Per task</th>
                  <th scope="col" className="num">
                    A
                  </th>
                  <th scope="col" className="num">
                    B
                  </th>
                  <th scope="col" className="num">
                    A − B
                  </th>
                  <th scope="col" className="num">
                    95 % interval
                  </th>
                  <th scope="col" className="num">
                    Tasks with both
                  </th>
                </tr>
              </thead>
              <tbody>
                {deltas.map(({ metric, tasks, a, b, difference, interval }) => {
                  const { label, decimals } = metricWords[metric];
                  return (
                    <tr key={metric}>
                      <th scope="row">{label}</th>
                      <td className="num">{formatNumber(a, decimals)}</td>
                      <td className="num">{formatNumber(b, decimals)}</td>
                      <td className="num">{differenceText(difference, decimals)}</td>
                      <td className="num">
                        {interval
                          ? `${differenceText(interval[0], decimals)} to ${differenceText(interval[1], decimals)}`
                          : missingValue}
                      </td>
                      <td className="num">{tasks > 0 ? tasks : missingValue}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </ScrollRegion>
          <p className="aside">{deltaNote(paired)}</p>
        </>
      )}
    </section>
  );
}
