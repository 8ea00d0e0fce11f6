import type { Tier } from "@/lib/contract/vocabulary";
import { tierMeanings } from "@/lib/prepare/labels";

/** Provenance of a row as a word in a frame that grows firmer with the evidence. */
export function TierBadge({ tier }: { tier: Tier }) {
  return (
    <span className={`tier tier-${tier}`} title={tierMeanings[tier]}>
      {tier}
    </span>
  );
}
