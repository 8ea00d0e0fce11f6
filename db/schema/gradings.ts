import {
  bigint,
  bigserial,
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import type { EvidenceSpan, FailureDetail, Guard, HostFacts, Launch, Result, Usage } from "../../lib/contract/result";
import {
  confidences,
  executors,
  gradingStatuses,
  meters,
  outcomeStatuses,
  properties,
  tiers,
} from "../../lib/contract/vocabulary";
import { persons } from "./accounts";
import { instant, oneOf } from "./columns";
import { hosts, keys } from "./hosts";
import { attempts } from "./submissions";
import { taskTests } from "./suites";

/** One execution of an attempt's tests on one host, as its accepted bundle states it. */
export const gradings = pgTable(
  "grading",
  {
    id: uuid("id").primaryKey(),
    attemptId: uuid("attempt_id")
      .notNull()
      .references(() => attempts.id, { onDelete: "cascade" }),
    leaseId: uuid("lease_id"),
    nonce: text("nonce"),
    hostId: uuid("host_id").references(() => hosts.id),
    keyid: text("keyid")
      .notNull()
      .references(() => keys.keyid),
    status: text("status", { enum: gradingStatuses }).notNull(),
    reason: jsonb("reason").$type<Result["reason"]>(),
    executor: text("executor", { enum: executors }).notNull(),
    sandboxed: boolean("sandboxed").notNull(),
    tier: text("tier", { enum: tiers }).notNull(),
    /** Accepted after its lease was lost: kept and shown, never scored. */
    late: boolean("late").notNull().default(false),
    invalidatedAt: instant("invalidated_at"),
    startedAt: instant("started_at").notNull(),
    finishedAt: instant("finished_at").notNull(),
    durationMs: doublePrecision("duration_ms").notNull(),
    receivedAt: instant("received_at").notNull(),
    requiredTotal: integer("required_total").notNull(),
    requiredPassed: integer("required_passed").notNull(),
    officialTotal: integer("official_total").notNull(),
    officialPassed: integer("official_passed").notNull(),
    resolved: boolean("resolved").notNull(),
    officialResolved: boolean("official_resolved").notNull(),
    runnerVersion: text("runner_version").notNull(),
    bundleSha256: text("bundle_sha256").notNull().unique(),
    bundleBytes: integer("bundle_bytes").notNull(),
    /** The bundle's signed statements, one DSSE envelope a line, and its SHA256SUMS, as received. */
    envelopes: text("envelopes").notNull(),
    sums: text("sums").notNull(),
    /** The server's signed receipt, a DSSE envelope. */
    receipt: text("receipt"),
    launches: jsonb("launches").$type<Launch[]>().notNull(),
    host: jsonb("host").$type<HostFacts>().notNull(),
    guard: jsonb("guard").$type<Guard>().notNull(),
    extraTests: jsonb("extra_tests").$type<Result["extraTests"]>().notNull(),
  },
  (table) => [
    // an attempt's gradings, to choose the one that counts
    index("grading_attempt").on(table.attemptId),
    // gradings of a key, when it is revoked
    index("grading_key").on(table.keyid),
    unique("grading_lease").on(table.leaseId),
    oneOf("grading_status_word", table.status, gradingStatuses),
    oneOf("grading_executor_word", table.executor, executors),
    oneOf("grading_tier_word", table.tier, tiers),
  ],
);

/** What one test did in one grading, merged over its ranks. */
export const outcomes = pgTable(
  "outcome",
  {
    gradingId: uuid("grading_id")
      .notNull()
      .references(() => gradings.id, { onDelete: "cascade" }),
    testId: integer("test_id")
      .notNull()
      .references(() => taskTests.id),
    status: text("status", { enum: outcomeStatuses }).notNull(),
    durationMs: doublePrecision("duration_ms"),
    rootRank: integer("root_rank"),
    /** What the test took in the launch that decided it; null where nothing was launched or measured. */
    usage: jsonb("usage").$type<Usage>(),
  },
  (table) => [
    primaryKey({ columns: [table.gradingId, table.testId] }),
    oneOf("outcome_status_word", table.status, outcomeStatuses),
  ],
);

export const rankOutcomes = pgTable(
  "rank_outcome",
  {
    gradingId: uuid("grading_id")
      .notNull()
      .references(() => gradings.id, { onDelete: "cascade" }),
    testId: integer("test_id").notNull(),
    rank: integer("rank").notNull(),
    status: text("status", { enum: outcomeStatuses }).notNull(),
    launch: integer("launch"),
    startedAt: instant("started_at"),
    durationMs: doublePrecision("duration_ms"),
    logLine: integer("log_line"),
    failure: jsonb("failure").$type<FailureDetail>(),
  },
  (table) => [
    primaryKey({ columns: [table.gradingId, table.testId, table.rank] }),
    oneOf("rank_outcome_status_word", table.status, outcomeStatuses),
  ],
);

/** A required test that did not pass, seen from its root rank. */
export const failures = pgTable(
  "failure",
  {
    gradingId: uuid("grading_id")
      .notNull()
      .references(() => gradings.id, { onDelete: "cascade" }),
    testId: integer("test_id").notNull(),
    status: text("status", { enum: outcomeStatuses }).notNull(),
    rootRank: integer("root_rank"),
    exceptionType: text("exception_type"),
    message: text("message").notNull(),
    /** The first line of the message that says something, of what a child process raised where it was wrapped. */
    line: text("line").notNull(),
    /** Digest of exception, folded message and in-project frames (lib/taxonomy). */
    signature: text("signature").notNull(),
    /** The label that counts, out of `label`: kept here by what writes labels, so that counts read one table. */
    class: text("class").notNull(),
    type: text("type").notNull(),
    tags: jsonb("tags").$type<string[]>().notNull(),
    labelSource: text("label_source", { enum: ["rule", "person"] }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.gradingId, table.testId] }),
    // failures of one cluster
    index("failure_signature").on(table.signature),
    oneOf("failure_status_word", table.status, outcomeStatuses),
    oneOf("failure_label_source_word", table.labelSource, ["rule", "person"]),
  ],
);

/**
 * A class and type given to a failure by a rule or a person. Nothing is deleted or changed; which label counts stands in
 * `db/queries/effective-labels.ts`.
 */
export const labels = pgTable(
  "label",
  {
    id: bigserial("id", { mode: "number" }).primaryKey(),
    gradingId: uuid("grading_id")
      .notNull()
      .references(() => gradings.id, { onDelete: "cascade" }),
    testId: integer("test_id").notNull(),
    class: text("class").notNull(),
    type: text("type").notNull(),
    source: text("source", { enum: ["rule", "person"] }).notNull(),
    rule: text("rule"),
    rulesVersion: text("rules_version"),
    tags: jsonb("tags").$type<string[]>().notNull().default([]),
    /** Of a rule: how far its word goes. Null for a person's label and for rules before version 2. */
    confidence: text("confidence", { enum: confidences }),
    /** The part of the failure that the label was read from. */
    evidence: jsonb("evidence").$type<EvidenceSpan>(),
    /** Null for a rule's label. */
    personId: text("person_id").references(() => persons.id),
    note: text("note"),
    /** Labels that a person gave in one act, and takes back in one. */
    batch: uuid("batch"),
    /** A maintainer's decision between people's labels. */
    adjudicates: boolean("adjudicates").notNull().default(false),
    createdAt: instant("created_at").notNull().defaultNow(),
  },
  (table) => [
    // a failure's label history
    index("label_failure").on(table.gradingId, table.testId),
    // what a person has labelled; the newest act, to take it back
    index("label_person").on(table.personId, table.id),
    oneOf("label_source_word", table.source, ["rule", "person"]),
    oneOf("label_confidence_word", table.confidence, confidences),
  ],
);

/** A person's word that a label of his own no longer stands: the label is kept and ceases to count. */
export const labelWithdrawals = pgTable("label_withdrawal", {
  labelId: bigint("label_id", { mode: "number" })
    .primaryKey()
    .references(() => labels.id, { onDelete: "cascade" }),
  personId: text("person_id")
    .notNull()
    .references(() => persons.id),
  createdAt: instant("created_at").notNull().defaultNow(),
});

export const resourceMeasures = pgTable(
  "resource_measure",
  {
    gradingId: uuid("grading_id")
      .notNull()
      .references(() => gradings.id, { onDelete: "cascade" }),
    testId: integer("test_id").notNull(),
    rank: integer("rank").notNull(),
    position: integer("position").notNull(),
    name: text("name").notNull(),
    property: text("property", { enum: properties }),
    value: doublePrecision("value").notNull(),
    limitValue: doublePrecision("limit_value").notNull(),
    unit: text("unit").notNull(),
    repeats: integer("repeats").notNull(),
    met: boolean("met").notNull(),
    /** Null: the test itself. */
    meter: text("meter", { enum: meters }),
    spreadMin: doublePrecision("spread_min"),
    spreadMax: doublePrecision("spread_max"),
    /** For a ratio: what it is relative to, and both sides' medians in `side_unit`. */
    relativeTo: text("relative_to", { enum: ["base", "gold"] }),
    referenceValue: doublePrecision("reference_value"),
    measuredValue: doublePrecision("measured_value"),
    sideUnit: text("side_unit"),
    accuracy: text("accuracy"),
  },
  (table) => [
    primaryKey({ columns: [table.gradingId, table.testId, table.rank, table.position] }),
    oneOf("resource_measure_meter_word", table.meter, meters),
    oneOf("resource_measure_relative_word", table.relativeTo, ["base", "gold"]),
  ],
);

/** Files of an accepted bundle's payload, each in the blob store under its digest. */
export const payloadFiles = pgTable(
  "payload_file",
  {
    gradingId: uuid("grading_id")
      .notNull()
      .references(() => gradings.id, { onDelete: "cascade" }),
    path: text("path").notNull(),
    sha256: text("sha256").notNull(),
    bytes: integer("bytes").notNull(),
  },
  (table) => [primaryKey({ columns: [table.gradingId, table.path] })],
);
