import { bigint, index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { bytea, instant } from "./columns";

/** The append-only Merkle log: one row per record, in order, its bytes as hashed. */
export const logRecords = pgTable(
  "log_record",
  {
    position: bigint("position", { mode: "number" }).primaryKey(),
    kind: text("kind").notNull(),
    gradingId: uuid("grading_id"),
    record: bytea("record").notNull(),
    /** SHA-256(0x00 || record). */
    leafHash: bytea("leaf_hash").notNull(),
    createdAt: instant("created_at").notNull().defaultNow(),
  },
  (table) => [
    // history of one grading
    index("log_record_grading").on(table.gradingId),
  ],
);

/** What maintainers did. */
export const auditEvents = pgTable("audit_event", {
  id: uuid("id").primaryKey().defaultRandom(),
  actor: text("actor").notNull(),
  action: text("action").notNull(),
  subject: text("subject").notNull(),
  detail: text("detail"),
  at: instant("at").notNull().defaultNow(),
});
