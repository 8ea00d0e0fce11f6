import "server-only";
import { cache } from "react";
import type { PersonRole } from "@/lib/contract/accounts";
import { InfraDevError } from "@/lib/contract/errors";
import { getServerContext, type ServerContext } from "../context";
import { authOf } from "./auth";

/** Who is signed in. */
export type Person = { id: string; email: string; name: string; pseudonym: string; role: PersonRole | null };

/** The person whose session the cookies name, as the database has it now; null where there is none. */
export async function findPerson(context: ServerContext, headers: Headers): Promise<Person | null> {
  if (!headers.get("cookie")?.includes("infradev.session_token")) return null;
  const auth = await authOf(context);
  const found = await auth.api.getSession({ headers });
  if (!found) return null;
  const { id, email, name, pseudonym, role } = found.user;
  return { id, email, name, pseudonym, role: role === "annotator" || role === "maintainer" ? role : null };
}

/** The person of the request that a page is made for. Only pages below `/label` and `/account` may ask. */
export const currentPerson = cache(async (): Promise<Person | null> => {
  const { headers } = await import("next/headers");
  return findPerson(await getServerContext(), new Headers(await headers()));
});

/** The person, who must be signed in and hold one of these roles. Throws `accounts.signed-out`, `accounts.role`. */
export async function requirePerson(
  context: ServerContext,
  request: Request,
  roles: readonly PersonRole[],
): Promise<Person & { role: PersonRole }> {
  const person = await findPerson(context, request.headers);
  if (!person) {
    throw new InfraDevError("unauthorized", {
      code: "accounts.signed-out",
      message: "nobody is signed in",
      rule: "what changes something is done by a person",
      remedy: "sign in at /account/sign-in and send the form again",
    });
  }
  const { role } = person;
  if (role === null || !roles.includes(role)) throw roleMissing(roles);
  return { ...person, role };
}

function roleMissing(roles: readonly PersonRole[]): InfraDevError {
  return new InfraDevError("forbidden", {
    code: "accounts.role",
    message: "this account may not do that",
    rule: `it takes the role ${roles.join(" or ")}`,
    remedy: "ask a maintainer for it: npm run admin -- account grant <email> <role>",
  });
}
