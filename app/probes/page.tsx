import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { ProbesPage } from "@/components/probes/probes-page";
import { defaultProbesView } from "@/lib/prepare/probes-view";
import { findProbes } from "./find-probes";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Probes",
  description: "What hidden probes reject that every official test lets pass: by entry, by property, by task.",
};

export default async function Page() {
  const found = await findProbes(defaultProbesView);
  if (!found) notFound();
  return <ProbesPage {...found} view={defaultProbesView} />;
}
