import { connection } from "next/server";
import { getServerContext } from "@/lib/server/context";
import { respondTo } from "@/lib/server/operation";
import { sendBlob } from "@/lib/server/send-blob";
import { requireTrajectory } from "@/lib/server/trajectories";

type Params = { params: Promise<{ id: string }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getTrajectoryFile", request, async () => {
    const context = await getServerContext();
    const { attemptId, trajectory } = await requireTrajectory(context, (await params).id);
    return sendBlob(context, request, {
      sha256: trajectory.sha256,
      bytes: trajectory.bytes,
      contentType: "application/json",
      fileName: `${attemptId}.trajectory.json`,
      visibility: "private",
      disposition: "attachment",
    });
  });
}
