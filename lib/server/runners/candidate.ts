import "server-only";
import type { AttemptForGrading } from "@/db/queries/ingest";
import type { Candidate } from "@/lib/contract/bundle";

/** What a job, and later its bundle, say about who made the patch. */
export function candidateOf(attempt: AttemptForGrading): Candidate {
  return {
    kind: attempt.kind,
    model: attempt.model,
    agent: attempt.agent,
    agentVersion: attempt.agentVersion,
    reasoningEffort: attempt.reasoningEffort,
    promptCondition: attempt.promptCondition,
    promptDigest: attempt.promptDigest,
    skill:
      attempt.skillName !== null && attempt.skillDigest !== null
        ? { name: attempt.skillName, digest: attempt.skillDigest }
        : null,
    networkPolicy: attempt.networkPolicy,
    budget: {
      timeMin: attempt.budgetTimeMin,
      costUsd: attempt.budgetCostUsd,
      tokensM: attempt.budgetTokensM,
      steps: attempt.budgetSteps,
    },
  };
}
