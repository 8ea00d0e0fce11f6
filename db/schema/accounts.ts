import { boolean, index, integer, pgTable, text } from "drizzle-orm/pg-core";
import { personRoles } from "../../lib/contract/accounts";
import { instant, oneOf } from "./columns";

/**
 * Who may sign in. Property names of this table and of the next three are those that better-auth asks for; what it
 * would keep and this site does not use (image, tokens of other providers) stays empty.
 */
export const persons = pgTable(
  "person",
  {
    id: text("id").primaryKey(),
    email: text("email").notNull().unique(),
    emailVerified: boolean("email_verified").notNull().default(false),
    name: text("name").notNull(),
    image: text("image"),
    /** Null: may read what everybody reads. */
    role: text("role", { enum: personRoles }),
    /** What the public sees in place of name and address; never changes, never given out again. */
    pseudonym: text("pseudonym").notNull().unique(),
    createdAt: instant("created_at").notNull().defaultNow(),
    updatedAt: instant("updated_at").notNull().defaultNow(),
  },
  (table) => [oneOf("person_role_word", table.role, personRoles)],
);

export const personSessions = pgTable(
  "person_session",
  {
    id: text("id").primaryKey(),
    userId: text("person_id")
      .notNull()
      .references(() => persons.id, { onDelete: "cascade" }),
    token: text("token").notNull().unique(),
    expiresAt: instant("expires_at").notNull(),
    ipAddress: text("ip_address"),
    userAgent: text("user_agent"),
    createdAt: instant("created_at").notNull().defaultNow(),
    updatedAt: instant("updated_at").notNull().defaultNow(),
  },
  // sessions of a person, when all of them end
  (table) => [index("person_session_person").on(table.userId)],
);

/** A way of signing in; here only the password, as a hash. */
export const personCredentials = pgTable(
  "person_credential",
  {
    id: text("id").primaryKey(),
    userId: text("person_id")
      .notNull()
      .references(() => persons.id, { onDelete: "cascade" }),
    accountId: text("account_id").notNull(),
    providerId: text("provider_id").notNull(),
    password: text("password"),
    accessToken: text("access_token"),
    refreshToken: text("refresh_token"),
    idToken: text("id_token"),
    accessTokenExpiresAt: instant("access_token_expires_at"),
    refreshTokenExpiresAt: instant("refresh_token_expires_at"),
    scope: text("scope"),
    createdAt: instant("created_at").notNull().defaultNow(),
    updatedAt: instant("updated_at").notNull().defaultNow(),
  },
  // signing in
  (table) => [index("person_credential_person").on(table.userId)],
);

export const personVerifications = pgTable("person_verification", {
  id: text("id").primaryKey(),
  identifier: text("identifier").notNull(),
  value: text("value").notNull(),
  expiresAt: instant("expires_at").notNull(),
  createdAt: instant("created_at").notNull().defaultNow(),
  updatedAt: instant("updated_at").notNull().defaultNow(),
});

/** Attempts to sign in, counted in windows of time: by account, by address and over all. */
export const signInWindows = pgTable("sign_in_window", {
  /** `account:` and `address:` are followed by a digest, so that no address of a person is kept here. */
  key: text("key").primaryKey(),
  attempts: integer("attempts").notNull(),
  startedAt: instant("started_at").notNull(),
});
