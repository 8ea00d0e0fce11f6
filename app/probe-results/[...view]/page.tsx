import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { findProbes } from "@/app/probes/find-probes";
import { ProbesPage } from "@/components/probes/probes-page";
import { defaultProbesView, parseProbesPath, probesHref, probesPath } from "@/lib/prepare/probes-view";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ view: string[] }>;
}

/** One view is made at build time; any other is made when it is first asked for, and kept. */
export function generateStaticParams() {
  return [{ view: probesPath(defaultProbesView).split("/").slice(2) }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const view = parseProbesPath((await params).view);
  return view ? { title: "Probes", alternates: { canonical: probesHref(view) } } : {};
}

export default async function Page({ params }: Props) {
  const view = parseProbesPath((await params).view);
  const found = view && (await findProbes(view));
  if (!view || !found) notFound();
  return <ProbesPage {...found} view={view} />;
}
