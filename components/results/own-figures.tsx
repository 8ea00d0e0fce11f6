import { ScrollRegion } from "@/components/ui/scroll-region";
import type { OwnFigures as Figures } from "@/lib/prepare/published-ours";

/** Figures of our own gradings beside a published table, marked as ours. */
export function OwnFigures({ figures }: { figures: Figures }) {
  return (
    <section className="own-figures" aria-labelledby="ours">
      <p className="own-mark">Graded here</p>
      <h2 id="ours">Ours, of the same kind</h2>
      <p className="aside">{figures.note}</p>
      {figures.tables.map((table) => {
        const caption = `${table.suite.title} ${table.suite.version}, graded here`;
        return (
          <ScrollRegion key={table.href} label={caption}>
            <table className="plain">
              <caption>
                <a href={table.href}>
                  <bdi>{table.suite.title}</bdi> {table.suite.version}
                </a>
              </caption>
              <thead>
                <tr>
                  <td />
                  {table.columns.map((column) => (
                    <th key={column.key} scope="col" className="num">
                      {column.label}
                      <small>{column.unit}</small>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {table.rows.map((row) => (
                  <tr key={row.key}>
                    <th scope="row">
                      <bdi>{row.label}</bdi>
                      {row.note ? <small className="footnote">{row.note}</small> : null}
                    </th>
                    {row.cells.map((cell, index) => (
                      <td key={table.columns[index]?.key} className="num">
                        {cell}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollRegion>
        );
      })}
      {figures.more ? (
        <p>
          <a href={figures.more.href}>{figures.more.label}</a>
        </p>
      ) : null}
    </section>
  );
}
