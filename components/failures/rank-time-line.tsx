import { OutcomeStatusText } from "@/components/results/outcome-status";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { FailureDetailAnswer } from "@/lib/contract/failures-api";
import { missingValue } from "@/lib/format/numbers";
import { formatDuration } from "@/lib/format/times";
import { type FailureBackground, type TimeLine, type TimeLineBar, timeLinesOf } from "@/lib/prepare/failure-page";
import { statusLabels } from "@/lib/prepare/labels";
import { logHref } from "@/lib/prepare/log-view";
import { FollowedRanks } from "./followed-ranks";

const rowHeight = 22;
/** Rows drawn at most; the table below has every rank. */
const drawnRanks = 64;

const pct = (value: number) => `${Math.round(value * 100) / 100}%`;

function wordOf(bar: TimeLineBar): string {
  if (bar.root) return `${statusLabels[bar.status]}, root`;
  return bar.follows === null ? statusLabels[bar.status] : `${statusLabels[bar.status]}, after rank ${bar.follows}`;
}

/** Ranks as bars over time: the root's is full, what followed it is hatched by its outline. */
function Drawing({ line }: { line: TimeLine }) {
  const bars = line.bars.slice(0, drawnRanks);
  const root = bars.find((bar) => bar.root);
  const height = bars.length * rowHeight;
  return (
    <svg className="time-line" width="100%" height={height} aria-hidden="true">
      {bars.map((bar, index) => {
        const top = index * rowHeight;
        const look = !bar.failed
          ? "span-passed"
          : bar.root
            ? "span-root"
            : bar.follows === null
              ? "span-own"
              : "span-after";
        return (
          <g key={bar.rank}>
            <rect className="bar-track" y={top + 4} width="100%" height={rowHeight - 8} />
            <rect
              className={look}
              x={pct(bar.startPct)}
              y={top + 4.5}
              width={pct(Math.max(bar.widthPct, 0.4))}
              height={rowHeight - 9}
            />
          </g>
        );
      })}
      {root ? (
        <line
          className="first-failure"
          x1={pct(root.startPct + root.widthPct)}
          x2={pct(root.startPct + root.widthPct)}
          y1="0"
          y2={height}
        />
      ) : null}
    </svg>
  );
}

function RankRow({
  answer,
  background,
  line,
  bar,
}: {
  answer: FailureDetailAnswer;
  background: FailureBackground;
  line: TimeLine;
  bar: TimeLineBar;
}) {
  const rank = answer.ranks.find((one) => one.rank === bar.rank && one.launch === line.launch);
  const log = background.logPaths.find((one) => one.rank === bar.rank && one.launch === line.launch);
  return (
    <tr>
      <th scope="row" className="num">
        {bar.rank}
      </th>
      <td>
        <OutcomeStatusText status={bar.status} />
        {bar.root ? <small>root rank</small> : bar.follows === null ? null : <small>after rank {bar.follows}</small>}
      </td>
      <td className="num">{formatDuration(bar.startMs)}</td>
      <td className="num">{formatDuration(bar.endMs)}</td>
      <td>{rank?.failure?.exceptionType ?? missingValue}</td>
      <td>
        {log ? (
          <a href={logHref({ gradingId: answer.failure.address.grading, path: log.path, line: rank?.logLine ?? null })}>
            log
          </a>
        ) : (
          missingValue
        )}
      </td>
    </tr>
  );
}

/** Who failed first, and who followed: a time line of the ranks for each launch, with its table. */
export function RankTimeLines({ answer, background }: { answer: FailureDetailAnswer; background: FailureBackground }) {
  const lines = timeLinesOf(answer.ranks, answer.failure.rootRank);
  if (lines.length === 0) return null;
  return (
    <section aria-labelledby="ranks">
      <h2 id="ranks">Ranks over time</h2>
      {lines.map((line) => {
        const launch = answer.launches.find(({ index }) => index === line.launch);
        const name = line.launch === null ? "Nothing was launched" : `Launch ${line.launch}`;
        return (
          <figure key={line.launch} className="ranks-figure">
            <figcaption>
              {name}
              {launch ? `: ${launch.group}, ${launch.nproc} by ${launch.launcher}` : ""}
              {launch?.killed ? `; killed: ${launch.killed}` : ""}
              {line.bars.length > 0 ? `; the test took ${formatDuration(line.spanMs)}` : ""}
            </figcaption>
            {line.bars.length > 0 ? (
              <>
                <div className="time-line-rows">
                  <ol aria-hidden="true">
                    {line.bars.slice(0, drawnRanks).map((bar) => (
                      <li key={bar.rank}>
                        {bar.rank} <span>{wordOf(bar)}</span>
                      </li>
                    ))}
                  </ol>
                  <Drawing line={line} />
                </div>
                <ScrollRegion label={`${name}: ranks`}>
                  <table className="plain">
                    <caption className="sr-only">{name}: outcome of each rank, with its times</caption>
                    <thead>
                      <tr>
                        <th scope="col" className="num">
                          Rank
                        </th>
                        <th scope="col">Outcome</th>
                        <th scope="col" className="num">
                          Began after
                        </th>
                        <th scope="col" className="num">
                          Ended after
                        </th>
                        <th scope="col">Exception</th>
                        <th scope="col">Log</th>
                      </tr>
                    </thead>
                    <tbody>
                      {line.bars.map((bar) => (
                        <RankRow key={bar.rank} answer={answer} background={background} line={line} bar={bar} />
                      ))}
                    </tbody>
                  </table>
                </ScrollRegion>
              </>
            ) : null}
            {line.untimed.length > 0 ? (
              <p className="aside">
                Without times:{" "}
                {line.untimed.map(({ rank, status }) => `rank ${rank} ${statusLabels[status]}`).join(", ")}.
              </p>
            ) : null}
          </figure>
        );
      })}
      <FollowedRanks followed={answer.followed} />
    </section>
  );
}
