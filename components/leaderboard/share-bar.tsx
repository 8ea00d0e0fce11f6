import type { Share } from "@/lib/contract/api";
import { formatInterval, formatPctUnit } from "@/lib/format/numbers";

/** A share as a bar with its 95 % interval as a whisker; the share with official tests alone as a hollow bar behind. */
export function ShareBar({ share, official }: { share: Share; official: Share | null }) {
  const counts = share.resolved === null ? "" : ` (${share.resolved} of ${share.total})`;
  const interval = share.interval ? `, 95 % interval ${formatInterval(share.interval)}` : "";
  const behind = official ? `; official tests alone ${formatPctUnit(official.pct)}` : "";
  const [low, high] = share.interval ?? [0, 0];
  return (
    <svg
      className="share-bar"
      height="20"
      role="img"
      aria-label={`${formatPctUnit(share.pct)}${counts}${interval}${behind}`}
    >
      <rect className="bar-track" y="4" width="100%" height="12" />
      <rect className="bar-fill" y="4" width={`${round(share.pct)}%`} height="12" />
      {official && official.pct > share.pct && (
        <rect
          className="bar-official"
          x={`${round(share.pct)}%`}
          y="4.5"
          width={`${round(official.pct - share.pct)}%`}
          height="11"
        />
      )}
      {share.interval && (
        <g className="whisker">
          <line x1={`${round(low)}%`} x2={`${round(high)}%`} y1="10" y2="10" />
          <line x1={`${round(low)}%`} x2={`${round(low)}%`} y1="6" y2="14" />
          <line x1={`${round(high)}%`} x2={`${round(high)}%`} y1="6" y2="14" />
        </g>
      )}
    </svg>
  );
}

const round = (value: number) => Math.round(value * 100) / 100;
