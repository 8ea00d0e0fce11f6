import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { TrajectoryPage } from "@/components/trajectory/trajectory-page";
import { parseTrajectoryView } from "@/lib/prepare/trajectory-view";
import { findTrajectoryPage } from "../find-trajectory";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ attempt: string }>;
}

/** Trajectories are drawn when they are first asked for. The framework wants one address, and this one is no attempt. */
export function generateStaticParams() {
  return [{ attempt: "00000000-0000-0000-0000-000000000000" }];
}

export const metadata: Metadata = { title: "Trajectory", robots: { index: false } };

export default async function Page({ params }: Props) {
  const found = await findTrajectoryPage(parseTrajectoryView(["1", "0", (await params).attempt]));
  if (!found) notFound();
  return <TrajectoryPage {...found} />;
}
