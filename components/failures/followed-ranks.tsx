import type { FailureCluster } from "@/lib/contract/failures-api";
import { plural } from "@/lib/format/numbers";
import { visibleText } from "@/lib/format/visible-text";
import { statusLabels } from "@/lib/prepare/labels";

/** What other ranks reported after the root failure, folded; nothing where nothing followed. */
export function FollowedRanks({ followed }: { followed: FailureCluster["followed"] }) {
  if (followed.length === 0) return null;
  return (
    <details>
      <summary>What followed on other ranks</summary>
      <ul className="followed">
        {followed.map((one) => (
          <li key={one.ranks.join(",")}>
            {plural(one.ranks.length, "Rank", "Ranks")} {one.ranks.join(", ")}:{" "}
            {one.exceptionType ?? statusLabels[one.status]}
            {one.line ? (
              <>
                , <code>{visibleText(one.line)}</code>
              </>
            ) : null}
          </li>
        ))}
      </ul>
    </details>
  );
}
