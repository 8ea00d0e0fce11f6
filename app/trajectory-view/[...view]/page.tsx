import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { TrajectoryPage } from "@/components/trajectory/trajectory-page";
import { parseTrajectoryView } from "@/lib/prepare/trajectory-view";
import { findTrajectoryPage } from "../../trajectories/find-trajectory";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ view: string[] }>;
}

/** Views of trajectories are made when they are first asked for. The framework wants one address, and this one is none. */
export function generateStaticParams() {
  return [{ view: ["1", "0", "00000000-0000-0000-0000-000000000000"] }];
}

export const metadata: Metadata = { title: "Trajectory", robots: { index: false } };

export default async function Page({ params }: Props) {
  const found = await findTrajectoryPage(parseTrajectoryView((await params).view));
  if (!found) notFound();
  return <TrajectoryPage {...found} />;
}
