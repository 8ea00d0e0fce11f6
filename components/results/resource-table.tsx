import { ScrollRegion } from "@/components/ui/scroll-region";
import { formatBytes, formatMeasure, missingValue } from "@/lib/format/numbers";
import { type MeasuredTests, resourcesOf, type ShownResource, splitTestId, usedOf } from "@/lib/prepare/attempt";
import { meterLabels } from "@/lib/prepare/labels";

/** Value against limit as a bar: the limit as a line across it, the repeats' spread as a whisker. */
function Bar({ resource }: { resource: ShownResource }) {
  const { valuePct, limitPct, spreadPct, met } = resource;
  const at = (pct: number) => `${pct.toFixed(2)}%`;
  return (
    <svg className="resource-bar" width="160" height="18" aria-hidden="true">
      <rect className="bar-track" y="4" width="100%" height="10" />
      <rect className={met ? "bar-fill" : "bar-over"} y="4" width={at(valuePct)} height="10" />
      {spreadPct === null ? null : (
        <line className="spread" x1={at(spreadPct.min)} x2={at(spreadPct.max)} y1="9" y2="9" />
      )}
      <line className="whisker" x1={at(limitPct)} x2={at(limitPct)} y1="0" y2="18" />
    </svg>
  );
}

function Measured({ resource }: { resource: ShownResource }) {
  const { value, unit, spread, repeats, relative } = resource;
  const spreads = spread !== undefined && spread.min < spread.max;
  return (
    <td className="num">
      {formatMeasure(value)} {unit}
      {spreads ? (
        <small>
          {formatMeasure(spread.min)} to {formatMeasure(spread.max)} in {repeats} repeats
        </small>
      ) : null}
      {relative === undefined ? null : (
        <small>
          {formatMeasure(relative.measured)} against {formatMeasure(relative.reference)} {relative.sideUnit} of{" "}
          {relative.to}
        </small>
      )}
    </td>
  );
}

function Source({ resource }: { resource: ShownResource }) {
  const label = meterLabels[resource.meter ?? "test"];
  if (resource.accuracy === undefined) return <td>{label}</td>;
  return (
    <td>
      <details>
        <summary>{label}</summary>
        <small>{resource.accuracy}</small>
      </details>
    </td>
  );
}

/** What tests without and with limits took: for reading, not for verdicts. */
function UsedTable({ detail }: { detail: MeasuredTests }) {
  const used = usedOf(detail);
  if (used.length === 0) return null;
  const mebibytes = (value: number | null) => (value === null ? missingValue : formatBytes(value * 1024 * 1024));
  return (
    <details>
      <summary>What each test took</summary>
      <ScrollRegion label="What each test took">
        <table className="plain">
          <caption className="sr-only">Time, peak memory and traffic of each test</caption>
          <thead>
            <tr>
              <th scope="col">Test</th>
              <th scope="col" className="num">
                Call, s
              </th>
              <th scope="col" className="num">
                GPU peak, NVML
              </th>
              <th scope="col" className="num">
                GPU peak, allocator
              </th>
              <th scope="col" className="num">
                Sent on loopback
              </th>
              <th scope="col" className="num">
                Sent over NVLink
              </th>
            </tr>
          </thead>
          <tbody>
            {used.map(({ testId, usage }) => (
              <tr key={testId}>
                <th scope="row">
                  <code>{splitTestId(testId).name}</code>
                </th>
                <td className="num">{formatMeasure(usage.wallClockS)}</td>
                <td className="num">{mebibytes(usage.gpuPeakMib)}</td>
                <td className="num">{mebibytes(usage.allocatorPeakMib)}</td>
                <td className="num">{formatBytes(usage.transportBytes)}</td>
                <td className="num">{formatBytes(usage.nvlinkBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </details>
  );
}

/** Measured resources as value against limit, who measured them and how exactly; then what each test took. */
export function ResourceTable({ detail }: { detail: MeasuredTests }) {
  const resources = resourcesOf(detail);
  if (resources.length === 0 && usedOf(detail).length === 0) return null;
  return (
    <section aria-labelledby="resources">
      <h2 id="resources">Resources</h2>
      {resources.length === 0 ? null : (
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
                <th scope="col">Measured by</th>
              </tr>
            </thead>
            <tbody>
              {resources.map((resource) => (
                <tr key={`${resource.testId} ${resource.name} ${resource.meter} ${resource.rank}`}>
                  <th scope="row">
                    {resource.name}
                    <small>
                      <code>{splitTestId(resource.testId).name}</code>, {resource.repeats}{" "}
                      {resource.repeats === 1 ? "measurement" : "repeats"}
                    </small>
                  </th>
                  <td className="num">{resource.rank}</td>
                  <Measured resource={resource} />
                  <td className="num">
                    {formatMeasure(resource.limit)} {resource.unit}
                  </td>
                  <td>
                    <Bar resource={resource} />
                  </td>
                  <td>{resource.met ? "✓\u00a0yes" : "✗\u00a0no"}</td>
                  <Source resource={resource} />
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      <UsedTable detail={detail} />
    </section>
  );
}
