import "server-only";
import { resolve } from "node:path";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";

const envSchema = z.object({
  /** Absent: the embedded server under the data folder. */
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "expected a URL that begins with postgres:// or postgresql://")
    .optional(),
  /** Blobs, partial uploads, live logs and the server's key. */
  INFRADEV_DATA_DIR: z.string().min(1).default(".data"),
  /** Name of this benchmark: who signs receipts and where the log comes from. A host name, without scheme. */
  INFRADEV_SERVER_NAME: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(\/[a-z0-9-]+)*$/, "expected a name such as bench.example.org")
    .default("infradev.local"),
  LOG_LEVEL: z.enum(["silent", "error", "warn", "info", "debug"]).default("info"),
});

export type ServerEnv = {
  databaseUrl: string | null;
  dataDir: string;
  serverName: string;
  logLevel: z.infer<typeof envSchema>["LOG_LEVEL"];
};

let cached: ServerEnv | undefined;

/** The web program's settings. The one place where it reads `process.env`. Throws `env.invalid`, naming the variable. */
export function serverEnv(): ServerEnv {
  cached ??= parseServerEnv(process.env);
  return cached;
}

export function parseServerEnv(source: Readonly<Record<string, string | undefined>>): ServerEnv {
  const parsed = envSchema.safeParse(source);
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
    databaseUrl: parsed.data.DATABASE_URL ?? null,
    dataDir: resolve(parsed.data.INFRADEV_DATA_DIR),
    serverName: parsed.data.INFRADEV_SERVER_NAME,
    logLevel: parsed.data.LOG_LEVEL,
  };
}
