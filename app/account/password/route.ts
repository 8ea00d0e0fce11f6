import { z } from "zod";
import { passwordLength } from "@/lib/contract/accounts";
import { parseForm, requireOwnOrigin, seeOther } from "@/lib/server/accounts/forms";
import { findPerson } from "@/lib/server/accounts/session";
import { changePassword } from "@/lib/server/accounts/sign-in";
import { getServerContext } from "@/lib/server/context";
import { respond } from "@/lib/server/http";

const formSchema = z.object({
  current: z.string().max(200).default(""),
  next: z.string().max(200).default(""),
});

/** Changes the password of who is signed in; other sessions end. */
export function POST(request: Request): Promise<Response> {
  return respond(async () => {
    requireOwnOrigin(request);
    const context = await getServerContext();
    const person = await findPerson(context, request.headers);
    if (!person) return seeOther("/account/sign-in?next=/account");
    const form = await parseForm(request, formSchema);
    const { min, max } = passwordLength;
    if (form.next.length < min || form.next.length > max) return seeOther("/account?error=length");
    const { changed, cookies } = await changePassword(context, {
      personId: person.id,
      current: form.current,
      next: form.next,
      headers: request.headers,
    });
    return seeOther(changed ? "/account?done=password" : "/account?error=password", { request, cookies });
  });
}
