import { type TrajectoryPage, trajectoryPageSteps } from "@/lib/contract/trajectory";
import type { TrajectoryView } from "@/lib/prepare/trajectory-view";
import { getTrajectory } from "@/lib/server/readers";

/** The page of a trajectory that a view asks for; null where there is none. */
export async function findTrajectoryPage(
  view: TrajectoryView | null,
): Promise<{ page: TrajectoryPage; view: TrajectoryView } | null> {
  const page = view && (await getTrajectory(view.attemptId, view.from, trajectoryPageSteps));
  return view && page && { page, view };
}
