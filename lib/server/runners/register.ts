import "server-only";
import { findKey, lockToken, recordHost, recordKey, useToken } from "@/db/queries/hosts";
import { InfraDevError } from "@/lib/contract/errors";
import type { RegisterRequest, RegisterResponse } from "@/lib/contract/job";
import { toBase64, utf8 } from "@/lib/evidence/bytes";
import { keyidOf, rawPublicKey, verifySignature } from "@/lib/evidence/keys";
import { announceTags } from "../announce";
import { base64Field } from "../base64-field";
import type { ServerContext } from "../context";
import { appendToLog } from "../log/append";
import { cacheTags } from "../tags";
import { mintSecret, secretHash } from "../tokens";

/** Registers a host: spends its one-time token, checks that it holds its key, and gives it a credential. */
export async function registerHost(context: ServerContext, request: RegisterRequest): Promise<RegisterResponse> {
  const spki = base64Field(request.spki, "body#spki");
  rawPublicKey(spki);
  const keyid = await keyidOf(spki);
  if (!(await verifySignature(spki, utf8(request.token), base64Field(request.proof, "body#proof")))) {
    throw new InfraDevError("forbidden", {
      code: "runner.proof",
      message: "the proof is no signature of the token by the key that is being registered",
      where: "body#proof",
      rule: "a host proves that it holds its key: Ed25519 over the token's UTF-8 bytes",
      remedy: "sign the token with the key whose SPKI is sent",
    });
  }
  const { secret, hash } = mintSecret("irc");
  const hostId = await context.database.sql.begin(async (tx) => {
    const tokenHash = secretHash(request.token);
    const token = await lockToken(tx, tokenHash);
    if (!token) throw tokenProblem("runner.token-unknown", "the token is not known here");
    if (token.used) throw tokenProblem("runner.token-used", "the token was used already");
    if (token.expired) throw tokenProblem("runner.token-expired", "the token has expired");
    if (await findKey(tx, keyid)) {
      throw new InfraDevError("conflict", {
        code: "runner.key-taken",
        message: "this key is registered already",
        where: `key ${keyid}`,
        rule: "each registration brings a key of its own",
        remedy: "remove the key file of the runner's data folder, so that a new one is made, and register again",
      });
    }
    const id = await recordHost(tx, {
      name: token.name ?? request.name,
      organizationId: token.organizationId,
      credentialHash: hash,
      facts: request.host,
      runnerVersion: request.runnerVersion,
      trusted: token.trusted,
    });
    await recordKey(tx, {
      keyid,
      role: "runner",
      owner: token.name ?? request.name,
      spki,
      hostId: id,
      organizationId: token.organizationId,
      validUntil: null,
    });
    await useToken(tx, { hash: tokenHash, hostId: id });
    const at = new Date().toISOString();
    const event = { format: "infradev-log/1" as const, at, keyid, reason: null, compromisedSince: null };
    await appendToLog(tx, { ...event, type: "key-registered" }, null);
    if (token.trusted) await appendToLog(tx, { ...event, type: "key-trusted" }, null);
    await announceTags(tx, [cacheTags.keys]);
    return id;
  });
  context.expireTags([cacheTags.keys]);
  return {
    hostId,
    keyid,
    credential: secret,
    server: { name: context.serverName, keyid: context.signer.keyid, spki: toBase64(context.signer.spki) },
  };
}

function tokenProblem(code: string, message: string): InfraDevError {
  return new InfraDevError("unauthorized", {
    code,
    message,
    where: "body#token",
    rule: "a token registers one host, within one hour",
    remedy: "get a new one from a maintainer: npm run admin -- token mint --kind runner",
  });
}
