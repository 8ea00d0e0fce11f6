import { registerRequestSchema } from "@/lib/contract/job";
import { getServerContext } from "@/lib/server/context";
import { json, parseJsonBody, respond } from "@/lib/server/http";
import { registerHost } from "@/lib/server/runners/register";

export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    const body = await parseJsonBody(request, registerRequestSchema);
    return json(await registerHost(await getServerContext(), body), { status: 201 });
  });
}
