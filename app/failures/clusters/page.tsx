import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { ClustersPage } from "@/components/failures/clusters-page";
import { parseFailureView } from "@/lib/prepare/failure-view";
import { findClusters } from "../find-failures";

export const ensureStatic = "navigation";

export const metadata: Metadata = { title: "Clusters of failures", alternates: { canonical: "/failures/clusters" } };

export default async function Page() {
  const found = await findClusters(parseFailureView(new URLSearchParams()));
  if (!found) notFound();
  return <ClustersPage {...found} />;
}
