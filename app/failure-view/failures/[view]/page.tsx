import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { FailuresPage } from "@/components/failures/failures-page";
import { parseFailureViewPath } from "@/lib/prepare/failure-view";
import { findFailures } from "../../../failures/find-failures";

export const ensureStatic = "navigation";

export const metadata: Metadata = { title: "Why attempts fail", robots: { index: false } };

/** One view is made at build time; any other when it is first asked for. */
export function generateStaticParams() {
  return [{ view: "-" }];
}

export default async function Page({ params }: { params: Promise<{ view: string }> }) {
  const view = parseFailureViewPath("failures", (await params).view);
  const found = view && (await findFailures(view));
  if (!found) notFound();
  return <FailuresPage {...found} />;
}
