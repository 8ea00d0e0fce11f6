import "server-only";
import { resolve } from "node:path";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";

const envSchema = z.object({
  /** Blobs, partial uploads, live logs, the server's key, the embedded database. */
  INFRADEV_DATA_DIR: z.string().min(1).default(".data"),
  /** Name of this benchmark: who signs receipts and where the log comes from. A host name, without scheme. */
  INFRADEV_SERVER_NAME: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(\/[a-z0-9-]+)*$/, "expected a name such as bench.example.org")
    .default("infradev.local"),
  /** Address of the site as readers know it, for documents that need whole addresses. */
  INFRADEV_SITE_URL: z
    .url({ protocol: /^https?$/, error: "expected an address such as https://bench.example.org" })
    .optional(),
  /** Signs the cookies of those who are signed in. */
  INFRADEV_AUTH_SECRET: z.string().min(32, "expected at least 32 random characters").optional(),
  INFRADEV_LOG_LEVEL: z.enum(["silent", "error", "warn", "info", "debug"]).default("info"),
  /** Set by Next when it listens. */
  PORT: z.coerce.number().int().min(1).max(65_535).optional(),
});

export type ServerEnv = {
  dataDir: string;
  serverName: string;
  siteUrl: string | null;
  authSecret: string | null;
  logLevel: z.infer<typeof envSchema>["INFRADEV_LOG_LEVEL"];
};

/**
 * The web program's settings; with `db/settings.ts`, which finds the database, the one place where it reads
 * `process.env`. Throws `env.invalid`, naming the variable.
 */
export function serverEnv(): ServerEnv {
  cached ??= parseServerEnv(process.env);
  return cached;
}

let cached: ServerEnv | undefined;

/** The port that this process listens on, once Next has told. */
export function listeningPort(): number | null {
  return envSchema.shape.PORT.safeParse(process.env["PORT"]).data ?? null;
}

function parseServerEnv(source: Readonly<Record<string, string | undefined>>): ServerEnv {
  const parsed = envSchema.omit({ PORT: true }).safeParse(source);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const name = String(issue?.path[0] ?? "environment");
    throw new InfraDevError("invalid", {
      code: "env.invalid",
      message: `environment variable ${name}: ${issue?.message ?? "has an unusable value"}`,
      where: name,
      rule: "settings must have the form that lib/server/README.md lists",
      remedy: `correct or unset ${name} and start again`,
    });
  }
  return {
    dataDir: resolve(parsed.data.INFRADEV_DATA_DIR),
    serverName: parsed.data.INFRADEV_SERVER_NAME,
    siteUrl: parsed.data.INFRADEV_SITE_URL?.replace(/\/+$/, "") ?? null,
    authSecret: parsed.data.INFRADEV_AUTH_SECRET ?? null,
    logLevel: parsed.data.INFRADEV_LOG_LEVEL,
  };
}
