import { ScrollRegion } from "@/components/ui/scroll-region";
import { publishedColumnLabel, publishedColumnLabels, publishedTableNumber } from "@/lib/prepare/published";

/** A table of a publication, its figures as printed. */
interface PublishedTableModel {
  key: string;
  title: string;
  missing: readonly string[];
  note: string | null;
  columns: readonly { key: string; unit: string }[];
  rows: readonly {
    key: string;
    label: string;
    footnote: string | null;
    cells: Readonly<Record<string, { printed: string; unit: string }>>;
  }[];
}

const sentences = (text: string) =>
  text.replace(/(^|\. )([a-z])/g, (_match, before, letter) => before + letter.toUpperCase());

/** Whether every row fills every column in the column's unit; else the rows are statements of their own. */
function isGrid(table: PublishedTableModel): boolean {
  return table.rows.every((row) => table.columns.every(({ key, unit }) => row.cells[key]?.unit === unit));
}

interface Props {
  table: PublishedTableModel;
  /** Spells out the keys of what is missing. */
  names: ReadonlyMap<string, string>;
  /** Whether the page is this table's own, so that its head names it. */
  alone?: boolean;
}

/** Figures as published, with what the copy lacks said under them. */
export function PublishedTable({ table, names, alone = false }: Props) {
  const heading = `${publishedTableNumber(table.key)}. ${table.title}`;
  return (
    <section className="published" id={table.key}>
      {alone ? null : (
        <h2>
          <a href={`/published/${table.key}`}>{heading}</a>
        </h2>
      )}
      {table.note ? <p className="aside">{sentences(table.note)}</p> : null}
      {isGrid(table) ? (
        <ScrollRegion label={heading}>
          <table className="plain">
            <caption className="sr-only">{heading}</caption>
            <thead>
              <tr>
                <td />
                {table.columns.map((column) => (
                  <th key={column.key} scope="col" className="num">
                    {publishedColumnLabel(column.key)}
                    <small>{column.unit}</small>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((row) => (
                <tr key={row.key}>
                  <th scope="row">
                    {row.label}
                    {row.footnote ? <small className="footnote">{row.footnote}</small> : null}
                  </th>
                  {table.columns.map((column) => (
                    <td key={column.key} className="num">
                      {row.cells[column.key]?.printed}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      ) : (
        <dl className="claims">
          {table.rows.map((row) => {
            const cells = table.columns.flatMap(({ key }) => row.cells[key] ?? []);
            return (
              <div key={row.key}>
                <dt>{row.label}</dt>
                <dd>
                  {cells.map((cell) => cell.printed).join(" to ")} {cells[0]?.unit}
                </dd>
              </div>
            );
          })}
        </dl>
      )}
      {table.missing.length > 0 ? (
        <p className="aside">
          Absent here, because the copy lacks it:{" "}
          {table.missing.map((key) => names.get(key) ?? publishedColumnLabels[key] ?? key).join(", ")}.
        </p>
      ) : null}
    </section>
  );
}
