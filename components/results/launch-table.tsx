import { ScrollRegion } from "@/components/ui/scroll-region";
import type { AttemptDetail } from "@/lib/contract/api";
import { formatBytes, plural } from "@/lib/format/numbers";
import { formatDuration } from "@/lib/format/times";
import { purposeLabels } from "@/lib/prepare/labels";
import { logHref } from "@/lib/prepare/log-view";

function exitsText(exits: AttemptDetail["launches"][number]["exits"]): string {
  if (exits.length === 0) return "—";
  const clean = exits.every((exit) => exit.code === 0);
  if (clean) return `all ${exits.length} with 0`;
  return exits.map((exit) => `rank ${exit.rank}: ${exit.signal ?? exit.code ?? "unknown"}`).join(", ");
}

type Launch = AttemptDetail["launches"][number];

/** Peaks and bytes of a launch, in words; a dash where nothing was measured. */
function tookText(usage: Launch["usage"]): string {
  const mebibytes = (value: number) => formatBytes(value * 1024 * 1024);
  const parts = [
    usage?.gpuPeakMib == null ? null : `GPU ${mebibytes(usage.gpuPeakMib)}`,
    usage?.hostPeakMib == null ? null : `host ${mebibytes(usage.hostPeakMib)}`,
    usage?.transportBytes == null ? null : `${formatBytes(usage.transportBytes)} sent`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "—" : parts.join(", ");
}

/** Every launch with how it ended, and the logs of its ranks. */
export function LaunchTable({ detail }: { detail: AttemptDetail }) {
  if (detail.launches.length === 0) return null;
  return (
    <section aria-labelledby="launches">
      <h2 id="launches">Launches and logs</h2>
      <ScrollRegion label="Launches">
        <table className="plain">
          <caption className="sr-only">Launches with their exits and logs</caption>
          <thead>
            <tr>
              <th scope="col" className="num">
                No.
              </th>
              <th scope="col">Group</th>
              <th scope="col">Started by</th>
              <th scope="col" className="num">
                Ranks
              </th>
              <th scope="col" className="num">
                Tests
              </th>
              <th scope="col" className="num">
                Time
              </th>
              <th scope="col">Peak memory, traffic</th>
              <th scope="col">Exits</th>
              <th scope="col">Logs</th>
            </tr>
          </thead>
          <tbody>
            {detail.launches.map((launch, index) => {
              const logs = detail.logs.filter((log) => log.launch === index);
              const gradingId = detail.grading?.id ?? "";
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: a launch is known by its number
                <tr key={index}>
                  <th scope="row" className="num">
                    {index}
                  </th>
                  <td>
                    {launch.group}
                    {launch.purpose === undefined || launch.purpose === "verdict" ? null : (
                      <small>{purposeLabels[launch.purpose]}</small>
                    )}
                  </td>
                  <td>{launch.launcher}</td>
                  <td className="num">{launch.nproc}</td>
                  <td className="num">{launch.tests.length}</td>
                  <td className="num">{formatDuration(launch.durationMs)}</td>
                  <td>{tookText(launch.usage)}</td>
                  <td>
                    {launch.killed ? <strong>killed: {launch.killed}; </strong> : null}
                    {exitsText(launch.exits)}
                  </td>
                  <td>
                    {logs.length === 0 || !detail.grading ? (
                      "—"
                    ) : (
                      <details>
                        <summary>
                          {logs.length} {plural(logs.length, "log")}
                        </summary>
                        <ul>
                          {logs.map((log) => (
                            <li key={log.path}>
                              <a href={logHref({ gradingId, path: log.path })}>
                                rank {log.rank} {log.stream}
                              </a>{" "}
                              <span className="count">{formatBytes(log.bytes)}</span>
                            </li>
                          ))}
                        </ul>
                      </details>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
