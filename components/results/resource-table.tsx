import { ScrollRegion } from "@/components/ui/scroll-region";
import type { AttemptDetail } from "@/lib/contract/api";
import { formatMeasure } from "@/lib/format/numbers";
import { resourcesOf, splitTestId } from "@/lib/prepare/attempt";

/** Measured resources as value against limit. */
export function ResourceTable({ detail }: { detail: AttemptDetail }) {
  const resources = resourcesOf(detail);
  if (resources.length === 0) return null;
  return (
    <section aria-labelledby="resources">
      <h2 id="resources">Resources</h2>
      <ScrollRegion label="Resources">
        <table className="plain">
          <caption className="sr-only">Measured resources against their limits</caption>
          <thead>
            <tr>
              <th scope="col">Resource</th>
              <th scope="col" className="num">
                Rank
              </th>
              <th scope="col" className="num">
                Value
              </th>
              <th scope="col" className="num">
                Limit
              </th>
              <th scope="col">Value against limit</th>
              <th scope="col">Limit met</th>
            </tr>
          </thead>
          <tbody>
            {resources.map((resource) => (
              <tr key={`${resource.testId} ${resource.name} ${resource.rank}`}>
                <th scope="row">
                  {resource.name}
                  <small>
                    <code>{splitTestId(resource.testId).name}</code>, {resource.repeats}{" "}
                    {resource.repeats === 1 ? "measurement" : "repeats"}
                  </small>
                </th>
                <td className="num">{resource.rank}</td>
                <td className="num">
                  {formatMeasure(resource.value)} {resource.unit}
                </td>
                <td className="num">
                  {formatMeasure(resource.limit)} {resource.unit}
                </td>
                <td>
                  <svg className="resource-bar" width="160" height="18" aria-hidden="true">
                    <rect className="bar-track" y="4" width="100%" height="10" />
                    <rect
                      className={resource.met ? "bar-fill" : "bar-over"}
                      y="4"
                      width={`${resource.valuePct.toFixed(2)}%`}
                      height="10"
                    />
                    <line
                      className="whisker"
                      x1={`${resource.limitPct.toFixed(2)}%`}
                      x2={`${resource.limitPct.toFixed(2)}%`}
                      y1="0"
                      y2="18"
                    />
                  </svg>
                </td>
                <td>{resource.met ? "✓ yes" : "✗ no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
