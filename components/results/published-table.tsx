import { ScrollRegion } from "@/components/ui/scroll-region";
import { missingValue } from "@/lib/format/numbers";
import { publishedColumnLabel, publishedTableNumber } from "@/lib/prepare/published";

/** A table of a publication, its figures as printed. */
export interface PublishedTableModel {
  key: string;
  title: string;
  repository: string | null;
  missing: readonly string[];
  note: string | null;
  columns: readonly { key: string; unit: string }[];
  rows: readonly {
    key: string;
    label: string;
    footnote: string | null;
    cells: Readonly<Record<string, { printed: string }>>;
  }[];
}

/** Figures as published, with what the copy lacks said under them. A table whose rows share no column becomes a list. */
export function PublishedTable({ table }: { table: PublishedTableModel }) {
  const heading = `${publishedTableNumber(table.key)}. ${table.title}`;
  const shared =
    table.rows.length > 1 && table.columns.every((column) => table.rows.some((row) => row.cells[column.key]));
  const sparse =
    shared &&
    table.rows.length * table.columns.length >
      3 * table.rows.reduce((sum, row) => sum + Object.keys(row.cells).length, 0);
  return (
    <section className="published" id={table.key} aria-labelledby={`${table.key}-title`}>
      <h2 id={`${table.key}-title`}>{heading}</h2>
      {table.note ? <p className="aside">{table.note}</p> : null}
      {sparse ? (
        <dl className="facts">
          {table.rows.map((row) => (
            <div key={row.key} className="fact">
              <dt>{row.label}</dt>
              <dd>
                {table.columns
                  .filter((column) => row.cells[column.key])
                  .map((column) => `${row.cells[column.key]?.printed} ${column.unit}`)
                  .join(" to ")}
              </dd>
            </div>
          ))}
        </dl>
      ) : (
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
                    {row.footnote ? <small>{row.footnote}</small> : null}
                  </th>
                  {table.columns.map((column) => (
                    <td key={column.key} className="num">
                      {row.cells[column.key]?.printed ?? missingValue}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {table.missing.length > 0 ? (
        <p className="aside">Absent here, because the copy lacks it: {table.missing.join(", ")}.</p>
      ) : null}
    </section>
  );
}
