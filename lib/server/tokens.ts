import "server-only";
import { createHash, randomBytes } from "node:crypto";

/** A secret that is shown once; only its digest is kept. */
export function mintSecret(prefix: "irt" | "irc"): { secret: string; hash: string } {
  const secret = `${prefix}_${randomBytes(32).toString("base64url")}`;
  return { secret, hash: secretHash(secret) };
}

/** What the database keeps of a secret. The secrets have 256 random bits, so a plain digest suffices. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
