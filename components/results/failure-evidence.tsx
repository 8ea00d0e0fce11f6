import type { FailureDetail } from "@/lib/contract/result";
import { plural } from "@/lib/format/numbers";
import { visibleText } from "@/lib/format/visible-text";
import { evidenceLabels } from "@/lib/prepare/labels";
import { logHref } from "@/lib/prepare/log-view";

type Evidence = NonNullable<FailureDetail["evidence"]>[number];

/** What frameworks and the host left beside one test's failures, the root rank's first, each with its file. */
export function FailureEvidence({
  gradingId,
  entries,
}: {
  gradingId: string;
  entries: readonly { rank: number; evidence: Evidence }[];
}) {
  if (entries.length === 0) return null;
  return (
    <details className="failure-evidence">
      <summary>
        {entries.length} {plural(entries.length, "piece")} of evidence:{" "}
        {[...new Set(entries.map(({ evidence }) => evidenceLabels[evidence.kind]))].join(", ")}
      </summary>
      {entries.map(({ rank, evidence }) => (
        <figure key={`${rank} ${evidence.file}`}>
          <figcaption>
            rank {rank}, {evidenceLabels[evidence.kind]}:{" "}
            <a href={logHref({ gradingId, path: evidence.file })}>{evidence.file}</a>
          </figcaption>
          {evidence.excerpt === "" ? null : (
            <div className="message">
              <pre>{visibleText(evidence.excerpt)}</pre>
            </div>
          )}
        </figure>
      ))}
    </details>
  );
}
