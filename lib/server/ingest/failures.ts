import "server-only";
import { createHash } from "node:crypto";
import type { NewGrading } from "@/db/queries/ingest";
import type { FailureDetail, Result } from "@/lib/contract/result";
import type { Manifest } from "@/lib/contract/task";
import type { GradingStatus, OutcomeStatus, Property } from "@/lib/contract/vocabulary";
import { classify } from "@/lib/taxonomy/classify";
import { signatureText } from "@/lib/taxonomy/signature";
import { tellingLine, unwrapFailure } from "@/lib/taxonomy/unwrap";

/** What is kept of a failure beside its facts: all of it follows from them and from the rules' version. */
export function describeFailure(facts: {
  status: OutcomeStatus;
  failure: FailureDetail | null;
  property: Property;
  gradingStatus: GradingStatus;
}) {
  const { status, failure } = facts;
  const label = classify(facts);
  return (
    label && {
      label,
      line: failure === null ? "" : tellingLine(unwrapFailure(failure).message),
      signature: createHash("sha256").update(signatureText(status, failure)).digest("hex"),
    }
  );
}

/**
 * Required tests that did not pass, each seen from its root rank and labelled by rule. Only what speaks about the
 * candidate counts: faults of the host, tampering, cancelled gradings and patches that do not apply are no failures.
 */
export function failuresOf(result: Result, manifest: Manifest): NewGrading["failures"] {
  const definitions = new Map(manifest.tests.map((test) => [test.id, test]));
  return result.tests.flatMap((test) => {
    const definition = definitions.get(test.id);
    if (!test.required || test.status === "passed" || !definition) return [];
    const root = test.ranks.find((rank) => rank.rank === test.rootRank) ?? test.ranks.find((rank) => rank.failure);
    const failure = root?.failure ?? null;
    const described = describeFailure({
      status: test.status,
      failure,
      property: definition.property,
      gradingStatus: result.status,
    });
    if (!described) return [];
    return [
      {
        testName: test.id,
        status: test.status,
        rootRank: test.rootRank,
        exceptionType: failure?.exceptionType ?? null,
        message: failure?.message ?? "",
        ...described,
      },
    ];
  });
}
