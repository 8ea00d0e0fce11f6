import type { HostFacts } from "../../lib/contract/result";
import type { KeyRole } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";
import { storableJson, storableText } from "./storable";

export interface HostRow {
  id: string;
  name: string;
  organizationId: number;
  organization: string;
  trusted: boolean;
  revoked: boolean;
  runnerVersion: string;
  registeredAt: Date;
  lastSeenAt: Date;
  keyid: string | null;
  spki: Uint8Array | null;
}

const hostColumns = (sql: SqlRunner) => sql`
  host.id, host.name, host.organization_id as "organizationId", organization.slug as organization,
  host.trusted_at is not null as trusted, host.revoked_at is not null as revoked,
  host.runner_version as "runnerVersion", host.registered_at as "registeredAt", host.last_seen_at as "lastSeenAt",
  key.keyid, key.spki
  from host
  join organization on organization.id = host.organization_id
  left join lateral (
    select keyid, spki from signing_key where host_id = host.id order by valid_from desc limit 1
  ) key on true`;

/** The host whose bearer credential has this digest; its last sign of life is set to now. */
export async function findHostByCredential(sql: SqlRunner, credentialHash: string): Promise<HostRow | null> {
  const [host] = await sql<HostRow[]>`
    with seen as (
      update host set last_seen_at = now() where credential_hash = ${credentialHash} returning id
    )
    select ${hostColumns(sql)} where host.id = (select id from seen)`;
  return host ?? null;
}

export async function listHosts(sql: SqlRunner): Promise<HostRow[]> {
  return sql<HostRow[]>`select ${hostColumns(sql)} order by host.registered_at`;
}

export async function findHost(sql: SqlRunner, id: string): Promise<HostRow | null> {
  const [host] = await sql<HostRow[]>`select ${hostColumns(sql)} where host.id = ${id}`;
  return host ?? null;
}

export async function recordHost(
  tx: SqlRunner,
  params: {
    name: string;
    organizationId: number;
    credentialHash: string;
    facts: HostFacts;
    runnerVersion: string;
    trusted: boolean;
  },
): Promise<string> {
  const [host] = await tx<{ id: string }[]>`
    insert into host (name, organization_id, credential_hash, facts, runner_version, trusted_at)
    values (${params.name}, ${params.organizationId}, ${params.credentialHash}, ${storableJson(params.facts)}::text::jsonb,
            ${storableText(params.runnerVersion)}, ${params.trusted ? tx`now()` : null})
    returning id`;
  if (!host) throw new Error("the host was not recorded");
  return host.id;
}

export async function trustHost(sql: SqlRunner, id: string): Promise<boolean> {
  const rows = await sql`
    update host set trusted_at = coalesce(trusted_at, now()) where id = ${id} and revoked_at is null returning id`;
  return rows.length > 0;
}

/** Ends a host: no more claims, its credential no longer opens anything. */
export async function revokeHost(sql: SqlRunner, id: string): Promise<boolean> {
  const rows = await sql`
    update host set revoked_at = coalesce(revoked_at, now()), trusted_at = null where id = ${id} returning id`;
  return rows.length > 0;
}

export interface KeyRow {
  keyid: string;
  role: KeyRole;
  owner: string;
  spki: Uint8Array;
  hostId: string | null;
  organizationId: number | null;
  /** Slug of its organization. */
  organization: string | null;
  validFrom: Date;
  validUntil: Date | null;
  revokedAt: Date | null;
  compromisedSince: Date | null;
}

const keyColumns = (sql: SqlRunner) => sql`
  keyid, role, owner, spki, host_id as "hostId", organization_id as "organizationId",
  (select slug from organization where organization.id = organization_id) as organization, valid_from as "validFrom",
  valid_until as "validUntil", revoked_at as "revokedAt", compromised_since as "compromisedSince"
  from signing_key`;

/** Every key that ever counted, oldest first. */
export async function listKeys(sql: SqlRunner): Promise<KeyRow[]> {
  return sql<KeyRow[]>`select ${keyColumns(sql)} order by valid_from, keyid`;
}

export async function findKey(sql: SqlRunner, keyid: string): Promise<KeyRow | null> {
  const [key] = await sql<KeyRow[]>`select ${keyColumns(sql)} where keyid = ${keyid}`;
  return key ?? null;
}

/** A key as it stands now; its row cannot change until the transaction ends. */
export async function holdKey(tx: SqlRunner, keyid: string): Promise<KeyRow | null> {
  const [key] = await tx<KeyRow[]>`select ${keyColumns(tx)} where keyid = ${keyid} for share`;
  return key ?? null;
}

/** Whether a host is trusted now; its row cannot change until the transaction ends. */
export async function holdHostTrust(tx: SqlRunner, id: string): Promise<boolean> {
  const [host] = await tx<{ trusted: boolean }[]>`
    select trusted_at is not null and revoked_at is null as trusted from host where id = ${id} for share`;
  return host?.trusted ?? false;
}

/** Adds a key; false where the keyid is known already, which is left as it is. */
export async function recordKey(
  tx: SqlRunner,
  params: {
    keyid: string;
    role: KeyRole;
    owner: string;
    spki: Uint8Array;
    hostId: string | null;
    organizationId: number | null;
    validUntil: Date | null;
  },
): Promise<boolean> {
  const rows = await tx`
    insert into signing_key (keyid, role, owner, spki, host_id, organization_id, valid_until)
    values (${params.keyid}, ${params.role}, ${params.owner}, ${Buffer.from(params.spki)}, ${params.hostId},
            ${params.organizationId}, ${params.validUntil})
    on conflict (keyid) do nothing
    returning keyid`;
  return rows.length > 0;
}

export async function revokeKey(
  tx: SqlRunner,
  params: { keyid: string; compromisedSince: Date | null },
): Promise<boolean> {
  const rows = await tx`
    update signing_key
    set revoked_at = coalesce(revoked_at, now()),
        compromised_since = coalesce(${params.compromisedSince}, compromised_since)
    where keyid = ${params.keyid}
    returning keyid`;
  return rows.length > 0;
}

export async function recordToken(
  tx: SqlRunner,
  params: { hash: string; organizationId: number; name: string | null; trusted: boolean; validSeconds: number },
): Promise<Date> {
  const [token] = await tx<{ expiresAt: Date }[]>`
    insert into registration_token (hash, organization_id, name, trusted, expires_at)
    values (${params.hash}, ${params.organizationId}, ${params.name}, ${params.trusted ? "yes" : "no"},
            now() + make_interval(secs => ${params.validSeconds}))
    returning expires_at as "expiresAt"`;
  if (!token) throw new Error("the token was not recorded");
  return token.expiresAt;
}

export interface TokenRow {
  organizationId: number;
  name: string | null;
  trusted: boolean;
  expired: boolean;
  used: boolean;
}

/** Holds the token's row until the transaction ends, so that it registers one host only. */
export async function lockToken(tx: SqlRunner, hash: string): Promise<TokenRow | null> {
  const [token] = await tx<TokenRow[]>`
    select organization_id as "organizationId", name, trusted = 'yes' as trusted, expires_at <= now() as expired,
           used_at is not null as used
    from registration_token where hash = ${hash} for update`;
  return token ?? null;
}

export async function useToken(tx: SqlRunner, params: { hash: string; hostId: string }): Promise<void> {
  await tx`update registration_token set used_at = now(), host_id = ${params.hostId} where hash = ${params.hash}`;
}

export async function recordAudit(
  tx: SqlRunner,
  params: { actor: string; action: string; subject: string; detail: string | null },
): Promise<void> {
  await tx`
    insert into audit_event (id, actor, action, subject, detail)
    values (gen_random_uuid(), ${params.actor}, ${params.action}, ${params.subject}, ${params.detail})`;
}
