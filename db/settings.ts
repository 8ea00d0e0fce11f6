import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { InfraDevError } from "../lib/contract/errors";
import { type ProcessMark, runsStill } from "./lock-file";

/** Folder of everything that a local installation writes: `INFRADEV_DATA_DIR`, else `.data` of the working directory. */
export function dataDirectory(): string {
  return resolve(/* turbopackIgnore: true */ process.env["INFRADEV_DATA_DIR"] ?? ".data");
}

/** Where the embedded server leaves its address while it runs. */
export function addressFileOf(dataDir: string): string {
  return join(dataDir, "postgres", "address.json");
}

export interface EmbeddedAddress extends ProcessMark {
  url: string;
  port: number;
}

/** The embedded server's address, or null when its file is missing, torn, or its process is gone. */
export function readEmbeddedAddress(dataDir: string): EmbeddedAddress | null {
  const file = addressFileOf(dataDir);
  if (!existsSync(file)) return null;
  try {
    const address = JSON.parse(readFileSync(file, "utf8")) as EmbeddedAddress;
    return runsStill(address) ? address : null;
  } catch {
    return null;
  }
}

/**
 * The database that a program of this repository talks to: `DATABASE_URL`, else the running embedded server.
 * Throws `database.none` when there is neither.
 */
export function findDatabaseUrl(dataDir: string = dataDirectory()): string {
  const given = process.env["DATABASE_URL"];
  if (given) return given;
  const embedded = readEmbeddedAddress(dataDir);
  if (embedded) return embedded.url;
  throw new InfraDevError("unavailable", {
    code: "database.none",
    message: "there is no database to talk to: DATABASE_URL is not set and the embedded Postgres is not running",
    where: addressFileOf(dataDir),
    rule: "every program needs a Postgres",
    remedy: "run 'npm run db -- start', or set DATABASE_URL",
  });
}
