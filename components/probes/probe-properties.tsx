import { ScrollRegion } from "@/components/ui/scroll-region";
import type { ProbesAnswer } from "@/lib/contract/probes-api";
import { capitalize } from "@/lib/format/numbers";
import { propertyLabels } from "@/lib/prepare/labels";
import { aloneInWords } from "@/lib/prepare/probes-words";

/** Which properties' probes reject attempts that pass every official test. */
export function ProbeProperties({ answer }: { answer: ProbesAnswer }) {
  const { properties, pooled, rows } = answer;
  if (properties.length === 0) return null;
  const ranked = rows.length > 0 && pooled.rows > 0;
  return (
    <section aria-labelledby="properties">
      <h2 id="properties">By property</h2>
      <ScrollRegion label="By property">
        <table className="plain probed-properties">
          <caption className="sr-only">Rejected attempts by the property that the failing probes check</caption>
          <thead>
            <tr>
              <th scope="col">Property</th>
              <th scope="col" className="num">
                Probes
                <small>required</small>
              </th>
              <th scope="col" className="num">
                Tasks
                <small>that have one</small>
              </th>
              {ranked ? (
                <th scope="col" className="num">
                  Entries’ attempts
                  <small>rejected</small>
                </th>
              ) : null}
              <th scope="col" className="num">
                Reference attempts
                <small>rejected</small>
              </th>
            </tr>
          </thead>
          <tbody>
            {properties.map((one) => (
              <tr key={one.property}>
                <th scope="row">{capitalize(propertyLabels[one.property])}</th>
                <td className="num">{one.probes}</td>
                <td className="num">{one.tasks}</td>
                {ranked ? (
                  <td className="num">
                    {one.ranked.attempts}
                    <small>{aloneInWords(one.ranked)}</small>
                  </td>
                ) : null}
                <td className="num">
                  {one.references.attempts}
                  <small>{aloneInWords(one.references)}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <p className="aside">
        An attempt counts under each property of which a probe fails, so the column is no sum. “By it alone”: probes of
        no other property reject it.
      </p>
    </section>
  );
}
