import { connection } from "next/server";
import { trajectoryAnswerSchema, trajectoryPageSteps, trajectoryQuerySchema } from "@/lib/contract/trajectory";
import { getServerContext } from "@/lib/server/context";
import { parseQuery, publicJson } from "@/lib/server/http";
import { respondTo } from "@/lib/server/operation";
import { readSteps, requireTrajectory } from "@/lib/server/trajectories";

type Params = { params: Promise<{ id: string }> };

export async function GET(request: Request, { params }: Params): Promise<Response> {
  await connection();
  return respondTo("getTrajectory", request, async () => {
    const { id } = await params;
    const what = { code: "trajectory.bad-query", what: "the query of the trajectory" };
    const query = parseQuery(request, trajectoryQuerySchema, what);
    const context = await getServerContext();
    const place = await requireTrajectory(context, id);
    const range = { from: Number(query.from ?? 1), count: Number(query.count ?? trajectoryPageSteps) };
    const steps = await readSteps(context, place, range);
    return publicJson(request, trajectoryAnswerSchema.parse({ ...place, steps }));
  });
}
