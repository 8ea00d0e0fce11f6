import { revalidateTag } from "next/cache";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import { isExpireSecret } from "@/lib/server/cache-listener";
import { parseJsonBody, respond } from "@/lib/server/http";
import { maxTagLength } from "@/lib/server/tags";

const bodySchema = z.object({ tags: z.array(z.string().min(1).max(maxTagLength)).max(100) });

/** The process's own door to its page cache: Next expires tags inside a request only. */
export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    if (!isExpireSecret(request.headers.get("x-infradev-expire"))) {
      throw new InfraDevError("not-found", { code: "request.unknown", message: "there is nothing here" });
    }
    for (const tag of (await parseJsonBody(request, bodySchema)).tags) revalidateTag(tag, { expire: 0 });
    return new Response(null, { status: 204 });
  });
}
