import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { LogPage } from "@/components/failures/log-page";
import { logName, parseLogView } from "@/lib/prepare/log-view";
import { findLogPage } from "../../logs/find-log-page";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ view: string[] }>;
}

/** Views of logs are made when they are first asked for. The framework wants one address, and this one is no log. */
export function generateStaticParams() {
  return [{ view: ["1", "0", "00000000-0000-0000-0000-000000000000", "none"] }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const view = parseLogView((await params).view);
  return view ? { title: logName(view.path), robots: { index: false } } : {};
}

export default async function Page({ params }: Props) {
  const found = await findLogPage(parseLogView((await params).view));
  if (!found) notFound();
  return <LogPage {...found} />;
}
