import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { submissionShare } from "@/app/og/share-metadata";
import { SubmissionPage } from "@/components/results/submission-page";
import { getSubmission } from "@/lib/server/readers";
import { listKnownSubmissions } from "../static-params";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ id: string }>;
}

export async function generateStaticParams() {
  return (await listKnownSubmissions()).map((id) => ({ id }));
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const submission = await getSubmission((await params).id);
  return submission
    ? { title: `${submission.candidate.model} on ${submission.suite.title}`, ...submissionShare(submission) }
    : {};
}

export default async function Page({ params }: Props) {
  const submission = await getSubmission((await params).id);
  if (!submission) notFound();
  return <SubmissionPage submission={submission} />;
}
