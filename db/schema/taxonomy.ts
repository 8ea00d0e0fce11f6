import { integer, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { instant } from "./columns";

/** The failure taxonomy is data: classes and types of one version, never an enum in code. */
export const taxonomyTypes = pgTable(
  "taxonomy_type",
  {
    version: text("version").notNull(),
    type: text("type").notNull(),
    class: text("class").notNull(),
    title: text("title").notNull(),
    meaning: text("meaning").notNull(),
    position: integer("position").notNull(),
    createdAt: instant("created_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.version, table.type] })],
);
