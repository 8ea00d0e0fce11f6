import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { ClustersPage } from "@/components/failures/clusters-page";
import { parseFailureViewPath } from "@/lib/prepare/failure-view";
import { findClusters } from "../../../failures/find-failures";

export const ensureStatic = "navigation";

export const metadata: Metadata = { title: "Clusters of failures", robots: { index: false } };

/** One view is made at build time; any other when it is first asked for. */
export function generateStaticParams() {
  return [{ view: "-" }];
}

export default async function Page({ params }: { params: Promise<{ view: string }> }) {
  const view = parseFailureViewPath("clusters", (await params).view);
  const found = view && (await findClusters(view));
  if (!found) notFound();
  return <ClustersPage {...found} />;
}
