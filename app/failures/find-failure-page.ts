import type { FailureDetailAnswer } from "@/lib/contract/failures-api";
import type { FailureBackground } from "@/lib/prepare/failure-page";
import { getFailure, getFailureBackground } from "@/lib/server/readers";

/** A failure by its address, with what stands behind it; null where the address names none. */
export async function findFailurePage({
  grading,
  test,
}: {
  grading: string;
  test: string;
}): Promise<{ answer: FailureDetailAnswer; background: FailureBackground } | null> {
  const answer = await getFailure(grading, test);
  const background =
    answer && (await getFailureBackground(answer.failure.address.grading, answer.failure.address.test));
  return answer && background && { answer, background };
}
