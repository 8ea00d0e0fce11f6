import type { PersonRole } from "../../lib/contract/accounts";
import type { SqlRunner } from "./queue";

export type PersonRow = {
  id: string;
  email: string;
  name: string;
  role: PersonRole | null;
  pseudonym: string;
  createdAt: Date;
  /** When the newest session that still holds began. */
  signedInAt: Date | null;
};

const columns = (tx: SqlRunner) => tx`
  person.id, person.email, person.name, person.role, person.pseudonym, person.created_at as "createdAt",
  (select max(created_at) from person_session
   where person_session.person_id = person.id and expires_at > now()) as "signedInAt"`;

/** Everybody who has an account, by address. */
export function listPersons(sql: SqlRunner): Promise<PersonRow[]> {
  return sql<PersonRow[]>`select ${columns(sql)} from person order by person.email`;
}

export async function findPersonByEmail(sql: SqlRunner, email: string): Promise<PersonRow | null> {
  const [row] = await sql<PersonRow[]>`select ${columns(sql)} from person where person.email = ${email}`;
  return row ?? null;
}

/** The account with its password; false where the address has one already. */
export async function recordPerson(
  tx: SqlRunner,
  person: {
    id: string;
    credentialId: string;
    email: string;
    name: string;
    pseudonym: string;
    role: PersonRole | null;
    passwordHash: string;
  },
): Promise<boolean> {
  const made = await tx`
    insert into person (id, email, email_verified, name, role, pseudonym)
    values (${person.id}, ${person.email}, true, ${person.name}, ${person.role}, ${person.pseudonym})
    on conflict (email) do nothing`;
  if (made.count === 0) return false;
  await tx`
    insert into person_credential (id, person_id, account_id, provider_id, password)
    values (${person.credentialId}, ${person.id}, ${person.id}, 'credential', ${person.passwordHash})`;
  return true;
}

export async function recordPersonRole(tx: SqlRunner, id: string, role: PersonRole | null): Promise<void> {
  await tx`update person set role = ${role}, updated_at = now() where id = ${id}`;
}

export async function recordPasswordHash(tx: SqlRunner, id: string, passwordHash: string): Promise<void> {
  await tx`
    update person_credential set password = ${passwordHash}, updated_at = now()
    where person_id = ${id} and provider_id = 'credential'`;
}

/** Ends every session of a person; how many there were. */
export async function endPersonSessions(tx: SqlRunner, id: string): Promise<number> {
  return (await tx`delete from person_session where person_id = ${id}`).count;
}

/**
 * Counts one attempt in each window and gives those that are over their limit by it. A window begins with its first
 * attempt and ends `seconds` later. One statement, so attempts at the same time are all counted.
 */
export async function countSignInAttempt(
  sql: SqlRunner,
  windows: readonly { key: string; seconds: number; limit: number }[],
): Promise<string[]> {
  // Rows are taken in the order of their keys: two attempts never wait for each other crosswise.
  const sorted = [...windows].sort((one, other) => (one.key < other.key ? -1 : 1));
  const rows = await sql<{ key: string; attempts: number }[]>`
    insert into sign_in_window as counted (key, attempts, started_at)
    select key, 1, now() from unnest(${sorted.map(({ key }) => key)}::text[]) as row (key)
    on conflict (key) do update set
      attempts = case when ${expired(sql, sorted)} then 1 else counted.attempts + 1 end,
      started_at = case when ${expired(sql, sorted)} then now() else counted.started_at end
    returning key, attempts`;
  return rows
    .filter(({ key, attempts }) => attempts > (windows.find((window) => window.key === key)?.limit ?? 0))
    .map(({ key }) => key);
}

const expired = (sql: SqlRunner, windows: readonly { key: string; seconds: number }[]) => sql`
  counted.started_at <= now() - make_interval(secs => (
    select seconds from unnest(
      ${windows.map(({ key }) => key)}::text[], ${windows.map(({ seconds }) => seconds)}::float8[]
    ) as length (key, seconds) where length.key = counted.key))`;

/** Forgets the attempts that a window has counted, and every window that began more than a day ago. */
export async function forgetSignInAttempts(sql: SqlRunner, key: string): Promise<void> {
  await sql`delete from sign_in_window where key = ${key} or started_at < now() - interval '1 day'`;
}
