import { sql } from "drizzle-orm";
import { type AnyPgColumn, check, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { type Property, properties } from "../../lib/contract/vocabulary";
import { attempts } from "./submissions";

const isWords = (column: AnyPgColumn) =>
  sql`${column} <@ array[${sql.raw(properties.map((word) => `'${word}'`).join(", "))}]`;

/** What an attempt's own added tests and commands check, by the rules of lib/self-tests; no row where neither was read. */
export const attemptSelfTests = pgTable(
  "attempt_self_test",
  {
    attemptId: uuid("attempt_id")
      .primaryKey()
      .references(() => attempts.id, { onDelete: "cascade" }),
    rulesVersion: text("rules_version").notNull(),
    /** Test functions that its patch adds; null, as the next two, where the patch was not read. */
    tests: integer("tests"),
    /** Assertions among the test code that it adds. */
    assertions: integer("assertions"),
    checks: text("checks").array().$type<Property[]>(),
    /** Calls of a shell in its trajectory; null, as the next two, where there is none. */
    commands: integer("commands"),
    /** Those that run tests. */
    testRuns: integer("test_runs"),
    commandChecks: text("command_checks").array().$type<Property[]>(),
  },
  (table) => [
    check("attempt_self_test_checks_word", isWords(table.checks)),
    check("attempt_self_test_command_checks_word", isWords(table.commandChecks)),
  ],
);
