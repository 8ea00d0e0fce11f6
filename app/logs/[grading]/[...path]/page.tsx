import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { LogPage } from "@/components/failures/log-page";
import { logName, parseLogView } from "@/lib/prepare/log-view";
import { findLogPage } from "../../find-log-page";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ grading: string; path: string[] }>;
}

/** Logs are made when they are first asked for. The framework wants one address, and this one is no log. */
export function generateStaticParams() {
  return [{ grading: "00000000-0000-0000-0000-000000000000", path: ["none"] }];
}

const viewOf = ({ grading, path }: Awaited<Props["params"]>) => parseLogView(["1", "0", grading, ...path]);

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const view = viewOf(await params);
  return view ? { title: logName(view.path), robots: { index: false } } : {};
}

export default async function Page({ params }: Props) {
  const found = await findLogPage(viewOf(await params));
  if (!found) notFound();
  return <LogPage {...found} />;
}
