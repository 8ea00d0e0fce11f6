import { VerdictGlyph } from "@/components/leaderboard/task-strip";
import type { TaskVerdict } from "@/lib/contract/vocabulary";
import { verdictLabels } from "@/lib/prepare/labels";

/** A task's verdict: glyph and words. */
export function Verdict({ verdict }: { verdict: TaskVerdict }) {
  return (
    <span className={`verdict verdict-${verdict}`}>
      <VerdictGlyph verdict={verdict} />
      {verdictLabels[verdict]}
    </span>
  );
}
