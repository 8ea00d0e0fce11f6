import { requireOwnOrigin, seeOther } from "@/lib/server/accounts/forms";
import { signOut } from "@/lib/server/accounts/sign-in";
import { getServerContext } from "@/lib/server/context";
import { respond } from "@/lib/server/http";

/** Signs out. */
export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    requireOwnOrigin(request);
    const cookies = await signOut(await getServerContext(), request.headers);
    return seeOther("/account/sign-in?done=signed-out", { request, cookies });
  });
}
