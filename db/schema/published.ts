import { doublePrecision, index, integer, jsonb, pgTable, primaryKey, serial, text } from "drizzle-orm/pg-core";

/** A publication that figures were copied from. */
export const publishedSources = pgTable("published_source", {
  id: serial("id").primaryKey(),
  key: text("key").notNull().unique(),
  title: text("title").notNull(),
  url: text("url").notNull(),
  published: text("published").notNull(),
  /** What the copy holds and what it lacks. */
  extent: text("extent").notNull(),
});

export const publishedTables = pgTable(
  "published_table",
  {
    sourceId: integer("source_id")
      .notNull()
      .references(() => publishedSources.id, { onDelete: "cascade" }),
    /** `table1` ... `table7`, `claims`. */
    key: text("key").notNull(),
    position: integer("position").notNull(),
    title: text("title").notNull(),
    /** Repository that the figures belong to, where the table has one only. */
    repository: text("repository"),
    /** Rows that the copy lacks. */
    missing: jsonb("missing").$type<string[]>().notNull(),
    note: text("note"),
  },
  (table) => [primaryKey({ columns: [table.sourceId, table.key] })],
);

/** One figure as printed: its table, row and column, and the unit it stands in. */
export const publishedFigures = pgTable(
  "published_figure",
  {
    sourceId: integer("source_id").notNull(),
    tableKey: text("table_key").notNull(),
    rowKey: text("row_key").notNull(),
    rowLabel: text("row_label").notNull(),
    rowPosition: integer("row_position").notNull(),
    columnKey: text("column_key").notNull(),
    columnPosition: integer("column_position").notNull(),
    value: doublePrecision("value").notNull(),
    /** The figure's digits as printed, for a faithful display. */
    printed: text("printed").notNull(),
    unit: text("unit").notNull(),
    footnote: text("footnote"),
  },
  (table) => [
    primaryKey({ columns: [table.sourceId, table.tableKey, table.rowKey, table.columnKey] }),
    // the page of one published table, in print order
    index("published_figure_order").on(table.sourceId, table.tableKey, table.rowPosition, table.columnPosition),
  ],
);
