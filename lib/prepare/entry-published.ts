import type { BoardRow } from "@/lib/contract/api";
import type { EntryDetail, EntryStanding } from "@/lib/contract/entry-api";
import type { EntrySubmissionFacts } from "@/lib/contract/entry-facts";

/** A publication's tables, as far as they speak of entries. */
export interface Publication {
  source: { key: string };
  tables: readonly {
    key: string;
    title: string;
    repository: string | null;
    columns: readonly { key: string }[];
    rows: readonly { label: string; cells: Readonly<Record<string, { printed: string; unit: string }>> }[];
  }[];
}

/** What a row can state, with whether it does. */
function statements(candidate: EntryDetail["candidate"], row: BoardRow): [name: string, isStated: boolean][] {
  const { budget } = candidate;
  return [
    ["% resolved over all tasks", true],
    ["% resolved by category", row.byCategory.length > 0],
    ["% resolved by official tests alone over all tasks", row.officialResolved !== null],
    ["% passed", row.passedPct !== null],
    ["time", row.timeMin !== null],
    ["cost", row.costUsd !== null],
    ["tokens", row.tokensM !== null],
    ["steps over all tasks", row.steps !== null],
    ["per-task outcomes, patches and trajectories", row.tasks !== null],
    ["agent and its version", candidate.agent !== null],
    ["reasoning effort", candidate.reasoningEffort !== null],
    ["network policy", candidate.networkPolicy !== "not-stated"],
    ["execution budget", Object.values(budget).some((limit) => limit !== null)],
  ];
}

/** What was published of an entry, with its citation, and what was not; null where the row is graded here. */
export function preparePublished(
  candidate: EntryDetail["candidate"],
  row: BoardRow,
  { source, footnotes }: EntrySubmissionFacts,
  publications: readonly Publication[],
): EntryStanding["published"] {
  if (!source) return null;
  const stated = statements(candidate, row);
  const named = (is: boolean) => stated.flatMap(([name, isStated]) => (isStated === is ? [name] : []));
  const tables = publications.find((one) => one.source.key === source.key)?.tables ?? [];
  return {
    title: source.title,
    url: source.url,
    published: source.published,
    extent: source.extent,
    footnotes,
    stated: named(true),
    notStated: named(false),
    tables: tables.flatMap(({ key, title, repository, columns, rows }) => {
      const printed = rows.find(({ label }) => label === candidate.model);
      if (!printed) return [];
      const cells = columns.flatMap((column) => {
        const cell = printed.cells[column.key];
        return cell ? [{ column: column.key, printed: cell.printed, unit: cell.unit }] : [];
      });
      return [{ key, title, repository, cells }];
    }),
  };
}
