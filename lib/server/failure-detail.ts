import "server-only";
import type { RankFailure } from "@/db/queries/failure-clusters";
import type { FailureFacts } from "@/db/queries/failure-detail";
import type { FailureDetailAnswer, FollowedFailure } from "@/lib/contract/failures-api";
import { signatureText } from "@/lib/taxonomy/signature";
import { tellingLine, unwrapFailure } from "@/lib/taxonomy/unwrap";

/** What followed the root on other ranks: equal failures together, in the order of their lowest ranks. */
export function followedOf(ranks: readonly Pick<RankFailure, "rank" | "status" | "failure">[]): FollowedFailure[] {
  const groups = new Map<string, FollowedFailure>();
  for (const { rank, status, failure } of ranks) {
    const key = signatureText(status, failure);
    const known = groups.get(key);
    if (known) {
      known.ranks.push(rank);
      continue;
    }
    const inner = failure && unwrapFailure(failure);
    groups.set(key, {
      status,
      exceptionType: inner?.exceptionType ?? null,
      line: inner ? tellingLine(inner.message) || null : null,
      ranks: [rank],
    });
  }
  return [...groups.values()];
}

/** The answer for one failure. Of a hidden probe: id, property, verdict and label, and no word of what it checks. */
export function failureAnswerOf(facts: FailureFacts): FailureDetailAnswer {
  const { failure, detail, ranks, launches } = facts;
  const { hidden } = failure.test;
  const named = new Set(ranks.flatMap(({ launch }) => launch ?? []));
  return {
    failure,
    grading: { ...facts.grading, startedAt: facts.grading.startedAt.toISOString() },
    requirement: hidden ? null : facts.requirement,
    message: hidden ? null : (detail?.message ?? null),
    mro: hidden ? [] : (detail?.mro ?? []),
    frames: hidden ? [] : (detail?.frames ?? []),
    activeCheck: hidden ? null : (detail?.activeCheck ?? null),
    ranks: hidden ? ranks.map((rank) => ({ ...rank, failure: null, logLine: null })) : ranks,
    followed: hidden
      ? []
      : followedOf(ranks.filter(({ rank, status }) => status !== "passed" && rank !== failure.rootRank)),
    resources: hidden ? [] : facts.resources,
    usage: hidden ? null : facts.usage,
    launches: launches.flatMap((launch, index) => (named.has(index) ? [{ ...launch, index }] : [])),
    labels: facts.labels.map((label) => ({
      ...label,
      evidence: hidden ? null : label.evidence,
      at: label.at.toISOString(),
      withdrawnAt: label.withdrawnAt?.toISOString() ?? null,
    })),
    cluster: hidden ? null : facts.cluster,
    sameTest: facts.sameTest,
  };
}
