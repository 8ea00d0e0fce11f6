import type { CustomReason } from "@/lib/contract/entry-api";
import { customSentence } from "@/lib/prepare/entry-custom";

/** Marks an entry whose configuration differs from its suite's standard; the difference stands in its title. */
export function CustomBadge({ reasons }: { reasons: readonly CustomReason[] }) {
  if (reasons.length === 0) return null;
  return (
    <span className="custom-badge" title={customSentence(reasons)}>
      custom
    </span>
  );
}
