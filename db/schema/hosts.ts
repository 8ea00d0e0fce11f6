import { index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { HostFacts } from "../../lib/contract/result";
import { keyRoles } from "../../lib/contract/vocabulary";
import { bytea, instant, oneOf } from "./columns";
import { organizations } from "./organizations";

/** A machine on which a runner is attached. */
export const hosts = pgTable("host", {
  id: uuid("id").primaryKey().defaultRandom(),
  name: text("name").notNull(),
  /** Operator. Two operators' agreement makes a row `reproduced`. */
  organizationId: integer("organization_id")
    .notNull()
    .references(() => organizations.id),
  /** sha256 of the bearer credential. */
  credentialHash: text("credential_hash").notNull().unique(),
  facts: jsonb("facts").$type<HostFacts>().notNull(),
  runnerVersion: text("runner_version").notNull(),
  registeredAt: instant("registered_at").notNull().defaultNow(),
  lastSeenAt: instant("last_seen_at").notNull().defaultNow(),
  trustedAt: instant("trusted_at"),
  revokedAt: instant("revoked_at"),
});

/** Every public key that ever counted, retired ones too. */
export const keys = pgTable(
  "signing_key",
  {
    /** Lowercase hex sha256 of the SPKI DER. */
    keyid: text("keyid").primaryKey(),
    role: text("role", { enum: keyRoles }).notNull(),
    owner: text("owner").notNull(),
    spki: bytea("spki").notNull(),
    hostId: uuid("host_id").references(() => hosts.id),
    organizationId: integer("organization_id").references(() => organizations.id),
    validFrom: instant("valid_from").notNull().defaultNow(),
    validUntil: instant("valid_until"),
    revokedAt: instant("revoked_at"),
    /** Signatures received at or after this time do not count. */
    compromisedSince: instant("compromised_since"),
  },
  (table) => [
    // the keys of a host
    index("signing_key_host").on(table.hostId),
    oneOf("signing_key_role_word", table.role, keyRoles),
  ],
);

/** One-time tokens: only their digests are kept. */
export const registrationTokens = pgTable(
  "registration_token",
  {
    hash: text("hash").primaryKey(),
    organizationId: integer("organization_id")
      .notNull()
      .references(() => organizations.id),
    name: text("name"),
    /** A host registered with this token is trusted at once. */
    trusted: text("trusted", { enum: ["yes", "no"] })
      .notNull()
      .default("no"),
    createdAt: instant("created_at").notNull().defaultNow(),
    expiresAt: instant("expires_at").notNull(),
    usedAt: instant("used_at"),
    hostId: uuid("host_id").references(() => hosts.id),
  },
  (table) => [oneOf("registration_token_trusted_word", table.trusted, ["yes", "no"])],
);
