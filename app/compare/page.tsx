import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { ComparePage } from "@/components/compare/compare-page";
import { defaultCompareView } from "@/lib/prepare/compare-view";
import { getComparison, isUnknown, listSuites } from "@/lib/server/readers";
import { choicesOf } from "../board/find-board";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Compare",
  description: "Two entries task by task: who resolves what, the exact paired test, and what each run took.",
};

export default async function Page() {
  const [found, suites] = await Promise.all([getComparison(defaultCompareView), listSuites()]);
  if (isUnknown(found)) notFound();
  return <ComparePage answer={found} view={defaultCompareView} suites={choicesOf(suites)} />;
}
