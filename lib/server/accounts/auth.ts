import "server-only";
import { betterAuth } from "better-auth";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { personCredentials, personSessions, persons, personVerifications } from "@/db/schema";
import { passwordLength } from "@/lib/contract/accounts";
import type { ServerContext } from "../context";
import { serverEnv } from "../env";
import { logger } from "../logger";
import { loadAuthSecret } from "./secret";

const sessionSeconds = 7 * 24 * 3600;

function createAuth(context: ServerContext, settings: { secret: string; siteUrl: string | null }) {
  return betterAuth({
    appName: "InfraDev",
    secret: settings.secret,
    // Only its functions are called, no route of its own is mounted: the address is for its checks of settings.
    baseURL: settings.siteUrl ?? "http://127.0.0.1",
    database: drizzleAdapter(context.database.db, {
      provider: "pg",
      schema: {
        user: persons,
        session: personSessions,
        account: personCredentials,
        verification: personVerifications,
      },
    }),
    user: {
      additionalFields: {
        role: { type: "string", required: false, input: false },
        pseudonym: { type: "string", required: true, input: false },
      },
    },
    emailAndPassword: {
      enabled: true,
      // Accounts are made by `npm run admin -- account create`.
      disableSignUp: true,
      minPasswordLength: passwordLength.min,
      maxPasswordLength: passwordLength.max,
    },
    // A session ends at a fixed time: pages, which cannot set cookies, need not renew one.
    session: { expiresIn: sessionSeconds, disableSessionRefresh: true, cookieCache: { enabled: false } },
    advanced: {
      cookiePrefix: "infradev",
      useSecureCookies: settings.siteUrl?.startsWith("https://") ?? false,
      defaultCookieAttributes: { httpOnly: true, sameSite: "lax", path: "/" },
    },
    // Attempts to sign in are counted in sign-in.ts, by account too; the library's limit knows addresses alone.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: {
      // What it warns of (a wrong password) is an answer like another.
      log: (level, message, ...details) =>
        logger()[level === "error" ? "error" : "debug"]({ details }, `accounts: ${message}`),
    },
  });
}

export type Auth = ReturnType<typeof createAuth>;

const made = new WeakMap<ServerContext, Promise<Auth>>();

/** The library behind signing in, one for each context. Throws `accounts.secret-missing`. */
export function authOf(context: ServerContext): Promise<Auth> {
  const kept = made.get(context);
  if (kept) return kept;
  const env = serverEnv();
  const opened = loadAuthSecret({ dataDir: context.dataDir, authSecret: env.authSecret, siteUrl: env.siteUrl }).then(
    (secret) => createAuth(context, { secret, siteUrl: env.siteUrl }),
  );
  made.set(context, opened);
  opened.catch(() => made.delete(context));
  return opened;
}
