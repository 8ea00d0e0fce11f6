import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { submissionShare } from "@/app/og/share-metadata";
import { VerifyButton } from "@/components/evidence/verify-button";
import { AttemptPage } from "@/components/results/attempt-page";
import { getAttempt, getSubmission, getTrajectory } from "@/lib/server/readers";
import { listKnownSubmissions } from "../../static-params";

export const ensureStatic = "navigation";

/** Steps of the trajectory that stand on the attempt's page. */
const firstSteps = 10;

interface Props {
  params: Promise<{ id: string; task: string }>;
}

export async function generateStaticParams() {
  const ids = await listKnownSubmissions();
  const submissions = await Promise.all(ids.map((id) => getSubmission(id)));
  const known = submissions.flatMap((submission) =>
    submission ? submission.attempts.map(({ task }) => ({ id: submission.id, task })) : [],
  );
  return known.length > 0 ? known.slice(0, 20) : [{ id: ids[0] ?? "none", task: "none" }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { id, task } = await params;
  const [detail, submission] = await Promise.all([getAttempt(id, task), getSubmission(id)]);
  return detail && submission
    ? { title: `${detail.task.title}: ${detail.submission.candidate.model}`, ...submissionShare(submission) }
    : {};
}

export default async function Page({ params }: Props) {
  const { id, task } = await params;
  const detail = await getAttempt(id, task);
  if (!detail) notFound();
  const { grading } = detail;
  return (
    <AttemptPage
      detail={detail}
      trajectory={detail.attempt.trajectory && (await getTrajectory(detail.attempt.id, 1, firstSteps))}
      verify={
        grading ? (
          <VerifyButton
            gradingId={grading.id}
            shown={{
              status: grading.status,
              summary: grading.summary,
              tests: detail.tests.map((test) => ({ id: test.id, status: test.status })),
            }}
          />
        ) : null
      }
    />
  );
}
