import "server-only";
import { readFile } from "node:fs/promises";
import { writableIn } from "@/db/client";
import {
  findHost,
  findKey,
  type KeyRow,
  recordAudit,
  recordKey,
  recordToken,
  revokeHost,
  revokeKey,
  trustHost,
} from "@/db/queries/hosts";
import { findLease, returnJob } from "@/db/queries/queue";
import { invalidateGradingsOfKey } from "@/db/queries/submission-admin";
import { listSubmissionsOfKey, recomputeSubmission } from "@/db/queries/summaries";
import { InfraDevError } from "@/lib/contract/errors";
import { protocol } from "@/lib/contract/job";
import { sha256Schema, uuidSchema } from "@/lib/contract/scalars";
import { fromBase64 } from "@/lib/evidence/bytes";
import { keyidOf, rawPublicKey } from "@/lib/evidence/keys";
import { announceJobs, announceTags } from "../announce";
import type { ServerContext } from "../context";
import { submissionTags } from "../ingest/submission-tags";
import { appendToLog } from "../log/append";
import { cacheTags } from "../tags";
import { mintSecret } from "../tokens";
import { type NamedOrganization, nameOrganization, parseName, type SaidOrganization } from "./organizations";

const tokenValidSeconds = 3600;
const actor = "admin command";

/** Makes a one-time token that registers one host within one hour. It is shown once: only its digest is kept. */
export async function mintToken(
  context: ServerContext,
  params: { name: string | null; trusted: boolean; organization: SaidOrganization },
): Promise<{ token: string; expiresAt: Date; organization: NamedOrganization }> {
  const name = params.name === null ? null : parseName(params.name, "--name");
  const { secret, hash } = mintSecret("irt");
  const { expiresAt, organization } = await context.database.sql.begin(async (tx) => {
    const organization = await nameOrganization(writableIn(tx), params.organization);
    await recordAudit(tx, { actor, action: "token.mint", subject: name ?? "host", detail: null });
    const expiresAt = await recordToken(tx, {
      hash,
      organizationId: organization.id,
      name,
      trusted: params.trusted,
      validSeconds: tokenValidSeconds,
    });
    return { expiresAt, organization };
  });
  return { token: secret, expiresAt, organization };
}

/** Lets a host's sandboxed gradings reach `verified` from now on. */
export async function trust(context: ServerContext, hostId: string): Promise<void> {
  const host = await requireHost(context, hostId);
  await context.database.sql.begin(async (tx) => {
    if (!(await trustHost(tx, host.id))) {
      throw new InfraDevError("conflict", {
        code: "host.revoked",
        message: `host '${host.name}' was revoked`,
        where: host.id,
        rule: "a revoked host is never trusted again",
        remedy: "register it anew with a fresh token",
      });
    }
    await recordAudit(tx, { actor, action: "host.trust", subject: host.id, detail: host.name });
    if (host.keyid) {
      await appendToLog(
        tx,
        {
          format: "infradev-log/1",
          type: "key-trusted",
          at: new Date().toISOString(),
          keyid: host.keyid,
          reason: null,
          compromisedSince: null,
        },
        null,
      );
    }
    await announceJobs(tx);
  });
}

/** Ends a host: it gets no work, its credential opens nothing, its key is revoked. What it has graded stays. */
export async function revoke(context: ServerContext, hostId: string, reason: string): Promise<void> {
  const host = await requireHost(context, hostId);
  await context.database.sql.begin(async (tx) => {
    await revokeHost(tx, host.id);
    await recordAudit(tx, { actor, action: "host.revoke", subject: host.id, detail: reason });
  });
  if (host.keyid) await revokeSigningKey(context, { keyid: host.keyid, compromisedSince: null, reason });
}

interface AddedKey {
  keyid: string;
  created: boolean;
  owner: string;
  organization: NamedOrganization;
}

/**
 * Registers a vendor's public key: PEM, or base64 of its SPKI DER. `owner` is the organization's name where it is null.
 * Registering the same again changes nothing; throws `key.revoked` or `key.taken` where the key stands otherwise.
 */
export async function addVendorKey(
  context: ServerContext,
  params: { file: string; owner: string | null; organization: SaidOrganization; validUntil: Date | null },
): Promise<AddedKey> {
  const spki = parsePublicKey(await readKeyFile(params.file), params.file);
  const keyid = await keyidOf(spki);
  const saidOwner = params.owner === null ? null : parseName(params.owner, "--owner");
  return context.database.sql.begin(async (tx) => {
    const organization = await nameOrganization(writableIn(tx), params.organization);
    const wanted = {
      keyid,
      role: "vendor",
      owner: saidOwner ?? organization.name,
      organizationId: organization.id,
      validUntil: params.validUntil,
    } as const;
    const created = await recordKey(tx, { ...wanted, spki, hostId: null });
    if (created) {
      await appendToLog(
        tx,
        {
          format: "infradev-log/1",
          type: "key-registered",
          at: new Date().toISOString(),
          keyid,
          reason: null,
          compromisedSince: null,
        },
        null,
      );
      await announceTags(tx, [cacheTags.keys]);
    } else {
      const known = await findKey(tx, keyid);
      if (known) requireSameKey(known, wanted);
    }
    return { keyid, created, owner: wanted.owner, organization };
  });
}

function requireSameKey(
  known: KeyRow,
  wanted: Pick<KeyRow, "keyid" | "role" | "owner" | "organizationId" | "validUntil">,
): void {
  const ofOrganization = known.organization ? ` of the organization '${known.organization}'` : "";
  const standing = `as the ${known.role} key of '${known.owner}'${ofOrganization}`;
  if (known.revokedAt) {
    throw new InfraDevError("conflict", {
      code: "key.revoked",
      message: `this key, registered ${standing}, was revoked at ${known.revokedAt.toISOString()}`,
      where: `key ${known.keyid}`,
      rule: "a revoked key never counts again",
      remedy: "make a key of its own (npm run runner -- grade ... --key NEW.pem) and register NEW.pub.pem",
    });
  }
  const isSame =
    known.role === wanted.role &&
    known.owner === wanted.owner &&
    known.organizationId === wanted.organizationId &&
    known.validUntil?.getTime() === wanted.validUntil?.getTime();
  if (isSame) return;
  const until = known.validUntil ? `, valid until ${known.validUntil.toISOString()}` : "";
  throw new InfraDevError("conflict", {
    code: "key.taken",
    message: `this key is registered already, ${standing}${until}`,
    where: `key ${known.keyid}`,
    rule: "a key keeps the role, owner, organization and window that it was registered with",
    remedy: "name these, or register another key; if these are wrong, revoke it: npm run admin -- key revoke",
  });
}

/**
 * Revokes a key. Signatures received before `compromisedSince` still count; gradings received at or after it are taken
 * out of the scoring, and every board they touched is computed again.
 */
export async function revokeSigningKey(
  context: ServerContext,
  params: { keyid: string; compromisedSince: Date | null; reason: string },
): Promise<{ invalidated: number }> {
  const { sql } = context.database;
  const key = sha256Schema.safeParse(params.keyid).success ? await findKey(sql, params.keyid) : null;
  if (!key) {
    throw new InfraDevError("not-found", {
      code: "key.unknown",
      message: "this key is not registered",
      where: params.keyid.slice(0, 80),
      rule: "a key is named by its keyid, 64 hex digits",
      remedy: "see: npm run admin -- key list",
    });
  }
  return sql.begin(async (tx) => {
    await revokeKey(tx, { keyid: key.keyid, compromisedSince: params.compromisedSince });
    await recordAudit(tx, { actor, action: "key.revoke", subject: key.keyid, detail: params.reason });
    const invalidated = params.compromisedSince
      ? await invalidateGradingsOfKey(tx, { keyid: key.keyid, since: params.compromisedSince })
      : [];
    const tags = new Set<string>([cacheTags.keys]);
    for (const submissionId of await listSubmissionsOfKey(tx, key.keyid)) {
      await recomputeSubmission(tx, submissionId);
      for (const tag of await submissionTags(tx, submissionId)) tags.add(tag);
    }
    await announceTags(tx, [...tags]);
    await appendToLog(
      tx,
      {
        format: "infradev-log/1",
        type: "key-revoked",
        at: new Date().toISOString(),
        keyid: key.keyid,
        reason: params.reason,
        compromisedSince: params.compromisedSince?.toISOString() ?? null,
      },
      null,
    );
    return { invalidated: invalidated.length };
  });
}

/** Ends a lease: what it still delivers is late, and its job goes back into the queue. */
export async function endLease(context: ServerContext, leaseId: string): Promise<{ job: string }> {
  const { sql } = context.database;
  return sql.begin(async (tx) => {
    const lease = uuidSchema.safeParse(leaseId).success ? await findLease(tx, leaseId, true) : null;
    if (lease?.state !== "active") {
      throw new InfraDevError(lease ? "conflict" : "not-found", {
        code: lease ? "lease.over" : "lease.unknown",
        message: lease ? `the lease is over already (${lease.state})` : "there is no such lease",
        where: leaseId.slice(0, 80),
        rule: "only an active lease can be ended",
        remedy: "see: npm run admin -- lease list",
      });
    }
    await tx`update lease set state = 'ended', ended_at = now() where id = ${lease.id}`;
    const job = await returnJob(tx, {
      jobId: lease.jobId,
      hostId: lease.hostId,
      countRetry: false,
      maxRetries: protocol.infraRetries,
      delaySeconds: 0,
      reason: "a maintainer ended its lease",
    });
    await recomputeSubmission(tx, lease.submissionId);
    await recordAudit(tx, { actor, action: "lease.end", subject: lease.id, detail: null });
    await announceTags(tx, await submissionTags(tx, lease.submissionId));
    await announceJobs(tx);
    return { job };
  });
}

async function requireHost(context: ServerContext, hostId: string) {
  const host = uuidSchema.safeParse(hostId).success ? await findHost(context.database.sql, hostId) : null;
  if (host) return host;
  throw new InfraDevError("not-found", {
    code: "host.unknown",
    message: "there is no such host",
    where: hostId.slice(0, 80),
    rule: "a host is named by its UUID",
    remedy: "see: npm run admin -- host list",
  });
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "key.unreadable",
        message: `the key's file cannot be read (${(cause as NodeJS.ErrnoException).code ?? "unknown error"})`,
        where: path,
        rule: "a vendor's public key is read from a file",
        remedy: "name a file that holds the public key",
      },
      { cause },
    );
  }
}

/** PEM (`BEGIN PUBLIC KEY`) or bare base64 of the SPKI. */
function parsePublicKey(text: string, path: string): Uint8Array {
  const body = /^-----BEGIN PUBLIC KEY-----([\s\S]+)-----END PUBLIC KEY-----\s*$/.exec(text.trim())?.[1] ?? text;
  try {
    const spki = fromBase64(body.replaceAll(/\s/g, ""));
    rawPublicKey(spki);
    return spki;
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "key.form",
        message: "the file holds no public key of Ed25519",
        where: path,
        rule: "a public key is PEM (BEGIN PUBLIC KEY) or base64 of its SubjectPublicKeyInfo in DER, of Ed25519",
        remedy: "export it with: openssl pkey -in key.pem -pubout",
      },
      { cause },
    );
  }
}
