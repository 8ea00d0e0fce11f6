import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { choicesOf } from "@/app/board/find-board";
import { compareShare } from "@/app/og/share-metadata";
import { ComparePage } from "@/components/compare/compare-page";
import { UnknownEntry } from "@/components/compare/unknown-entry";
import { compareHref, comparePath, defaultCompareView, parseComparePath } from "@/lib/prepare/compare-view";
import { compareTitle } from "@/lib/prepare/compare-words";
import { getComparison, isUnknown, listSuites } from "@/lib/server/readers";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ view: string[] }>;
}

/** One view is made at build time; any other is made when it is first asked for, and kept. */
export function generateStaticParams() {
  return [{ view: comparePath(defaultCompareView).split("/").slice(2) }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const view = parseComparePath((await params).view);
  const found = view && (await getComparison(view));
  if (!view || !found) return {};
  // the page cache sends as "not found" what says so of itself
  if (isUnknown(found)) return { title: "Not found", robots: { index: false }, other: { "page-status": "404" } };
  const canonical = compareHref(view);
  return {
    title: compareTitle(found),
    ...compareShare(found, canonical.slice("/compare".length)),
    alternates: { canonical },
  };
}

export default async function Page({ params }: Props) {
  const view = parseComparePath((await params).view);
  if (!view) notFound();
  const [found, suites] = await Promise.all([getComparison(view), listSuites()]);
  if (isUnknown(found)) return <UnknownEntry unknown={found.unknown} name={found.name} />;
  return <ComparePage answer={found} view={view} suites={choicesOf(suites)} />;
}
