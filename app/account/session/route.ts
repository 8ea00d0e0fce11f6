import { z } from "zod";
import { ownPath, parseForm, requireOwnOrigin, seeOther } from "@/lib/server/accounts/forms";
import { signIn } from "@/lib/server/accounts/sign-in";
import { getServerContext } from "@/lib/server/context";
import { respond } from "@/lib/server/http";

const formSchema = z.object({
  email: z.string().max(254).default(""),
  password: z.string().max(200).default(""),
  next: z.string().max(1000).optional(),
});

/** Signs in, and goes on to where the form was asked for. */
export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    requireOwnOrigin(request);
    const form = await parseForm(request, formSchema);
    const next = ownPath(form.next, "/label");
    const answer = await signIn(await getServerContext(), { ...form, headers: request.headers });
    if (answer.outcome !== "signed-in")
      return seeOther(`/account/sign-in?${new URLSearchParams({ error: answer.outcome, next })}`);
    return seeOther(next, { request, cookies: answer.cookies });
  });
}
