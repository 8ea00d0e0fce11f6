import { boolean, index, integer, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { gradingStatuses, jobStates } from "../../lib/contract/vocabulary";
import { instant, oneOf } from "./columns";
import { hosts } from "./hosts";
import { attempts } from "./submissions";
import { tasks } from "./suites";

/** One grading that is wanted. A job may need several leases until one of them finishes it. */
export const jobs = pgTable(
  "job",
  {
    id: uuid("id").primaryKey().defaultRandom(),
    attemptId: uuid("attempt_id")
      .notNull()
      .references(() => attempts.id, { onDelete: "cascade" }),
    taskId: integer("task_id")
      .notNull()
      .references(() => tasks.id),
    state: text("state", { enum: jobStates }).notNull().default("queued"),
    priority: integer("priority").notNull().default(0),
    /** Not offered before this time: infra retries wait. */
    notBefore: instant("not_before").notNull().defaultNow(),
    infraRetries: integer("infra_retries").notNull().default(0),
    /** Host whose fault made the last try fail; another one is preferred. */
    avoidHostId: uuid("avoid_host_id").references(() => hosts.id),
    cancelRequestedAt: instant("cancel_requested_at"),
    createdAt: instant("created_at").notNull().defaultNow(),
    finishedAt: instant("finished_at"),
    finishStatus: text("finish_status", { enum: gradingStatuses }),
    reason: text("reason"),
  },
  (table) => [
    // claim: the oldest job of the highest priority that is due
    index("job_claim").on(table.state, table.priority, table.createdAt),
    index("job_attempt").on(table.attemptId),
    oneOf("job_state_word", table.state, jobStates),
    oneOf("job_finish_word", table.finishStatus, gradingStatuses),
  ],
);

export const leaseStates = ["active", "finished", "lost", "ended"] as const;

/** The right of one host to work on one job until a time. Its id fences: what an old lease uploads is late. */
export const leases = pgTable(
  "lease",
  {
    id: uuid("id").primaryKey().defaultRandom(),
    jobId: uuid("job_id")
      .notNull()
      .references(() => jobs.id, { onDelete: "cascade" }),
    hostId: uuid("host_id")
      .notNull()
      .references(() => hosts.id),
    /** The grading that this lease makes; each lease has its own. */
    gradingId: uuid("grading_id").notNull().unique(),
    nonce: text("nonce").notNull().unique(),
    state: text("state", { enum: leaseStates }).notNull().default("active"),
    jobState: text("job_state", { enum: jobStates }).notNull().default("leased"),
    progress: text("progress"),
    grantedAt: instant("granted_at").notNull().defaultNow(),
    renewedAt: instant("renewed_at"),
    expiresAt: instant("expires_at").notNull(),
    endedAt: instant("ended_at"),
    finishStatus: text("finish_status", { enum: gradingStatuses }),
    bundleSha256: text("bundle_sha256"),
    verdict: text("verdict"),
  },
  (table) => [
    // expiry sweep
    index("lease_active").on(table.state, table.expiresAt),
    index("lease_job").on(table.jobId),
    oneOf("lease_state_word", table.state, leaseStates),
    oneOf("lease_job_state_word", table.jobState, jobStates),
  ],
);

/** A bundle on its way, addressed by its digest; `offset` is what has been written and synced. */
export const uploads = pgTable(
  "upload",
  {
    id: uuid("id").primaryKey().defaultRandom(),
    leaseId: uuid("lease_id").references(() => leases.id, { onDelete: "cascade" }),
    /** Key that announces a self-made bundle, where no lease stands behind it. */
    keyid: text("keyid"),
    sha256: text("sha256").notNull(),
    bytes: integer("bytes").notNull(),
    complete: boolean("complete").notNull().default(false),
    createdAt: instant("created_at").notNull().defaultNow(),
  },
  (table) => [unique("upload_lease_digest").on(table.leaseId, table.sha256)],
);
