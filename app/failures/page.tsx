import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { FailuresPage } from "@/components/failures/failures-page";
import { parseFailureView } from "@/lib/prepare/failure-view";
import { findFailures } from "./find-failures";

export const ensureStatic = "navigation";

export const metadata: Metadata = { title: "Why attempts fail", alternates: { canonical: "/failures" } };

export default async function Page() {
  const found = await findFailures(parseFailureView(new URLSearchParams()));
  if (!found) notFound();
  return <FailuresPage {...found} />;
}
