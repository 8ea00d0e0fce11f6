import "server-only";
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { hashPassword } from "better-auth/crypto";
import {
  endPersonSessions,
  findPersonByEmail,
  listPersons,
  type PersonRow,
  recordPasswordHash,
  recordPerson,
  recordPersonRole,
} from "@/db/queries/accounts";
import { recordAudit } from "@/db/queries/hosts";
import { emailSchema, type PersonRole } from "@/lib/contract/accounts";
import { InfraDevError } from "@/lib/contract/errors";
import type { ServerContext } from "../context";
import { parseWith } from "../http";

/*
 * Accounts are made by maintainers on the host: there is no sign-up. Those who label are few and known, their labels
 * count at once, and the site sends no mail that could prove an address.
 */

const actor = "admin command";

const emailOf = (email: string) =>
  parseWith(emailSchema, email, {
    code: "accounts.email",
    what: "the address",
    where: email.slice(0, 80),
    rule: "an account is named by an email address of at most 254 characters",
    remedy: "correct the address",
  });

/** Letters and digits that cannot be taken for one another. */
const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";
const randomWord = (length: number) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");

/** Makes an account with a random password, which is shown once. Throws `accounts.exists`. */
export async function createAccount(
  context: ServerContext,
  params: { email: string; name: string | null; role: PersonRole | null },
): Promise<{ email: string; pseudonym: string; role: PersonRole | null; password: string }> {
  const email = emailOf(params.email);
  const password = randomPassword();
  const pseudonym = `reviewer-${randomWord(6)}`;
  const person = {
    id: randomUUID(),
    credentialId: randomUUID(),
    email,
    name: params.name ?? pseudonym,
    pseudonym,
    role: params.role,
    passwordHash: await hashPassword(password),
  };
  await context.database.sql.begin(async (tx) => {
    if (!(await recordPerson(tx, person))) {
      throw new InfraDevError("conflict", {
        code: "accounts.exists",
        message: "this address has an account",
        where: email,
        rule: "one account an address",
        remedy: `grant it a role, or give it a new password: npm run admin -- account reset ${email}`,
      });
    }
    await recordAudit(tx, { actor, action: "account.create", subject: person.id, detail: params.role });
  });
  return { email, pseudonym, role: params.role, password };
}

const randomPassword = () => randomBytes(15).toString("base64url");

/** Gives an account a role in place of the one that it had. Throws `accounts.unknown`. */
export async function grantRole(context: ServerContext, email: string, role: PersonRole): Promise<PersonRow> {
  return change(context, email, "account.grant", role, (tx, person) => recordPersonRole(tx, person.id, role));
}

/** Takes every role away and ends every session. What the person labelled stays. Throws `accounts.unknown`. */
export async function revokeRole(context: ServerContext, email: string): Promise<PersonRow> {
  return change(context, email, "account.revoke", null, async (tx, person) => {
    await recordPersonRole(tx, person.id, null);
    await endPersonSessions(tx, person.id);
  });
}

/** Gives an account a new password and ends every session. Throws `accounts.unknown`. */
export async function resetPassword(
  context: ServerContext,
  email: string,
): Promise<{ email: string; password: string }> {
  const password = randomPassword();
  const passwordHash = await hashPassword(password);
  const person = await change(context, email, "account.reset", null, async (tx, { id }) => {
    await recordPasswordHash(tx, id, passwordHash);
    await endPersonSessions(tx, id);
  });
  return { email: person.email, password };
}

export const listAccounts = (context: ServerContext): Promise<PersonRow[]> => listPersons(context.database.sql);

type Transaction = Parameters<typeof recordPersonRole>[0];

async function change(
  context: ServerContext,
  address: string,
  action: string,
  detail: string | null,
  work: (tx: Transaction, person: PersonRow) => Promise<void>,
): Promise<PersonRow> {
  const email = emailOf(address);
  return context.database.sql.begin(async (tx) => {
    const person = await findPersonByEmail(tx, email);
    if (!person) {
      throw new InfraDevError("not-found", {
        code: "accounts.unknown",
        message: "no account has this address",
        where: email,
        rule: "accounts are made by 'account create'",
        remedy: `list them with 'npm run admin -- account list', or make it: npm run admin -- account create ${email}`,
      });
    }
    await work(tx, person);
    await recordAudit(tx, { actor, action, subject: person.id, detail });
    return person;
  });
}
