import "server-only";
import { createHash } from "node:crypto";
import { APIError } from "better-auth/api";
import { countSignInAttempt, forgetSignInAttempts } from "@/db/queries/accounts";
import { recordAudit } from "@/db/queries/hosts";
import type { ServerContext } from "../context";
import { authOf } from "./auth";

/**
 * Limits of attempts, kept in Postgres so that every web process counts the same. By account: passwords of one cannot be
 * tried out, from however many addresses. By address: as the nearest proxy names it. Over all: each attempt costs a
 * tenth of a second of hashing.
 */
export const signInLimits = {
  account: { limit: 10, seconds: 900 },
  address: { limit: 30, seconds: 900 },
  all: { limit: 120, seconds: 60 },
} as const;

export type SignInAnswer = { outcome: "signed-in"; cookies: string[] } | { outcome: "refused" | "too-many" };

const digest = (text: string) => createHash("sha256").update(text).digest("base64url").slice(0, 22);

/** Signs a person in. Whether an address has an account cannot be told from the answer or from its time. */
export async function signIn(
  context: ServerContext,
  request: { email: string; password: string; headers: Headers },
): Promise<SignInAnswer> {
  const { sql } = context.database;
  const email = request.email.trim().toLowerCase();
  const address = request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "unknown";
  const account = `account:${digest(email)}`;
  // The limit over all comes first: beyond it made-up accounts and addresses leave no rows.
  for (const windows of [
    [{ key: "all", ...signInLimits.all }],
    [
      { key: account, ...signInLimits.account },
      { key: `address:${digest(address)}`, ...signInLimits.address },
    ],
  ])
    if ((await countSignInAttempt(sql, windows)).length > 0) return { outcome: "too-many" };
  const auth = await authOf(context);
  try {
    const { headers, response } = await auth.api.signInEmail({
      body: { email, password: request.password },
      headers: request.headers,
      returnHeaders: true,
    });
    await forgetSignInAttempts(sql, account);
    await recordAudit(sql, {
      actor: `person ${response.user.id}`,
      action: "account.sign-in",
      subject: response.user.id,
      detail: null,
    });
    return { outcome: "signed-in", cookies: headers.getSetCookie() };
  } catch (error) {
    if (error instanceof APIError) return { outcome: "refused" };
    throw error;
  }
}

/** Ends the session that the cookies name; the cookies that forget it. */
export async function signOut(context: ServerContext, headers: Headers): Promise<string[]> {
  const auth = await authOf(context);
  const answer = await auth.api.signOut({ headers, returnHeaders: true });
  return answer.headers.getSetCookie();
}

/** Changes the password of who is signed in and ends every other session. False where the present one is wrong. */
export async function changePassword(
  context: ServerContext,
  request: { personId: string; current: string; next: string; headers: Headers },
): Promise<{ changed: boolean; cookies: string[] }> {
  const over = await countSignInAttempt(context.database.sql, [
    { key: `account:${digest(request.personId)}`, ...signInLimits.account },
  ]);
  if (over.length > 0) return { changed: false, cookies: [] };
  const auth = await authOf(context);
  try {
    const { headers } = await auth.api.changePassword({
      body: { currentPassword: request.current, newPassword: request.next, revokeOtherSessions: true },
      headers: request.headers,
      returnHeaders: true,
    });
    await recordAudit(context.database.sql, {
      actor: `person ${request.personId}`,
      action: "account.password",
      subject: request.personId,
      detail: null,
    });
    return { changed: true, cookies: headers.getSetCookie() };
  } catch (error) {
    if (error instanceof APIError) return { changed: false, cookies: [] };
    throw error;
  }
}
