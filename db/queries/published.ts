import { asc, eq } from "drizzle-orm";
import type { Queryable } from "../client";
import { publishedFigures, publishedSources, publishedTables } from "../schema";

interface PublishedTableView {
  key: string;
  title: string;
  repository: string | null;
  missing: string[];
  note: string | null;
  /** Column keys with their unit, in print order. */
  columns: { key: string; unit: string }[];
  rows: {
    key: string;
    label: string;
    footnote: string | null;
    /** By column; the unit is the cell's own, since the rows of a list of claims differ in theirs. */
    cells: Record<string, { value: number; printed: string; unit: string }>;
  }[];
}

export interface PublicationView {
  source: typeof publishedSources.$inferSelect;
  tables: PublishedTableView[];
}

/** Every publication with its tables as printed. */
export async function listPublications(db: Queryable): Promise<PublicationView[]> {
  const sources = await db.select().from(publishedSources).orderBy(asc(publishedSources.id));
  return Promise.all(
    sources.map(async (source) => {
      const [tables, figures] = await Promise.all([
        db
          .select()
          .from(publishedTables)
          .where(eq(publishedTables.sourceId, source.id))
          .orderBy(asc(publishedTables.position)),
        db
          .select()
          .from(publishedFigures)
          .where(eq(publishedFigures.sourceId, source.id))
          .orderBy(
            asc(publishedFigures.tableKey),
            asc(publishedFigures.rowPosition),
            asc(publishedFigures.columnPosition),
          ),
      ]);
      return {
        source,
        tables: tables.map(({ key, title, repository, missing, note }) => {
          const columns = new Map<string, string>();
          const rows = new Map<string, PublishedTableView["rows"][number]>();
          for (const figure of figures.filter((candidate) => candidate.tableKey === key)) {
            columns.set(figure.columnKey, figure.unit);
            const row = rows.get(figure.rowKey) ?? {
              key: figure.rowKey,
              label: figure.rowLabel,
              footnote: figure.footnote,
              cells: {},
            };
            row.cells[figure.columnKey] = { value: figure.value, printed: figure.printed, unit: figure.unit };
            rows.set(figure.rowKey, row);
          }
          return {
            key,
            title,
            repository,
            missing,
            note,
            columns: [...columns].map(([column, unit]) => ({ key: column, unit })),
            rows: [...rows.values()],
          };
        }),
      };
    }),
  );
}
