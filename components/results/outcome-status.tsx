import type { OutcomeStatus } from "@/lib/contract/vocabulary";
import { statusLabels } from "@/lib/prepare/labels";

const marks: Record<OutcomeStatus, string> = {
  passed: "✓",
  failed: "✗",
  error: "!",
  crashed: "†",
  hung: "∞",
  skipped: "–",
  "not-run": "·",
};

/** An outcome as mark and word. */
export function OutcomeStatusText({ status }: { status: OutcomeStatus }) {
  return (
    <span className={`outcome outcome-${status}`}>
      <span className="outcome-mark" aria-hidden="true">
        {marks[status]}
      </span>
      {statusLabels[status]}
    </span>
  );
}

/** An outcome of one rank as a small square with its mark. */
export function RankMark({ rank, status, root }: { rank: number; status: OutcomeStatus; root: boolean }) {
  const label = `rank ${rank}: ${statusLabels[status]}${root ? ", root" : ""}`;
  return (
    <span className={`rank-mark outcome-${status}${root ? " root" : ""}`} title={label} role="img" aria-label={label}>
      {marks[status]}
    </span>
  );
}
