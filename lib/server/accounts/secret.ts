import "server-only";
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";

/**
 * The secret that signs cookies: the setting, else the one in `keys/auth-secret` of the data folder, made at first use
 * (0600). A site with a public https address must set it: several processes share one, and it outlives a data folder.
 * Throws `accounts.secret-missing`.
 */
export async function loadAuthSecret(options: {
  dataDir: string;
  authSecret: string | null;
  siteUrl: string | null;
}): Promise<string> {
  if (options.authSecret !== null) return options.authSecret;
  if (options.siteUrl?.startsWith("https://")) {
    throw new InfraDevError("unavailable", {
      code: "accounts.secret-missing",
      message: "nobody can sign in: the site has no secret for its cookies",
      where: "INFRADEV_AUTH_SECRET",
      rule: "a site with an https address signs its cookies with a secret from its settings",
      remedy: "set INFRADEV_AUTH_SECRET to at least 32 random characters, such as those of 'openssl rand -base64 32'",
    });
  }
  const path = join(options.dataDir, "keys", "auth-secret");
  const kept = await readSecret(path);
  if (kept !== null) return kept;
  await mkdir(join(options.dataDir, "keys"), { recursive: true, mode: 0o700 });
  const own = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(own, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
  try {
    // A link is made whole or not at all, and never replaces what another process made meanwhile.
    await link(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await unlink(own);
  }
  const made = await readSecret(path);
  if (made === null) throw new Error(`${path} holds no secret`);
  return made;
}

async function readSecret(path: string): Promise<string | null> {
  try {
    const secret = (await readFile(path, "utf8")).trim();
    return secret.length >= 32 ? secret : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
