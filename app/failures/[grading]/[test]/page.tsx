import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { FailurePage } from "@/components/failures/failure-page";
import { splitTestId } from "@/lib/prepare/attempt";
import { findFailurePage } from "../../find-failure-page";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ grading: string; test: string }>;
}

/** Failures are made when they are first asked for. The framework wants one address, and this one is no failure. */
export function generateStaticParams() {
  return [{ grading: "00000000-0000-0000-0000-000000000000", test: "1" }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const found = await findFailurePage(await params);
  if (!found) return {};
  const { test, entry } = found.answer.failure;
  return { title: `${splitTestId(test.id).name}: ${entry.model}` };
}

export default async function Page({ params }: Props) {
  const found = await findFailurePage(await params);
  if (!found) notFound();
  return <FailurePage {...found} />;
}
