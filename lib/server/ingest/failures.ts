import "server-only";
import { createHash } from "node:crypto";
import type { NewGrading } from "@/db/queries/ingest";
import type { Result } from "@/lib/contract/result";
import type { Manifest } from "@/lib/contract/task";
import { classify } from "@/lib/taxonomy/classify";
import { signatureText } from "@/lib/taxonomy/signature";

/**
 * Required tests that did not pass, each seen from its root rank and labelled by rule. Only what speaks about the
 * candidate counts: faults of the host, tampering, cancelled gradings and patches that do not apply are no failures.
 */
export function failuresOf(result: Result, manifest: Manifest): NewGrading["failures"] {
  if (result.status !== "completed" && result.status !== "candidate-timeout") return [];
  const definitions = new Map(manifest.tests.map((test) => [test.id, test]));
  return result.tests.flatMap((test) => {
    const definition = definitions.get(test.id);
    if (!test.required || test.status === "passed" || !definition) return [];
    const root = test.ranks.find((rank) => rank.rank === test.rootRank) ?? test.ranks.find((rank) => rank.failure);
    const failure = root?.failure ?? null;
    const label = classify({ status: test.status, failure, property: definition.property });
    if (!label) return [];
    return [
      {
        testName: test.id,
        status: test.status,
        rootRank: test.rootRank,
        exceptionType: failure?.exceptionType ?? null,
        message: failure?.message ?? "",
        signature: createHash("sha256").update(signatureText(test.status, failure)).digest("hex"),
        label,
      },
    ];
  });
}
