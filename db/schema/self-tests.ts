import { sql } from "drizzle-orm";
import { check, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { type Property, properties } from "../../lib/contract/vocabulary";
import { attempts } from "./submissions";

/** What an attempt's own added tests check, by the rules of lib/self-tests; no row where its patch was not read. */
export const attemptSelfTests = pgTable(
  "attempt_self_test",
  {
    attemptId: uuid("attempt_id")
      .primaryKey()
      .references(() => attempts.id, { onDelete: "cascade" }),
    rulesVersion: text("rules_version").notNull(),
    /** Test functions that its patch adds. */
    tests: integer("tests").notNull(),
    /** Assertions among the test code that it adds. */
    assertions: integer("assertions").notNull(),
    checks: text("checks").array().$type<Property[]>().notNull(),
  },
  (table) => [
    check(
      "attempt_self_test_checks_word",
      sql`${table.checks} <@ array[${sql.raw(properties.map((word) => `'${word}'`).join(", "))}]`,
    ),
  ],
);
