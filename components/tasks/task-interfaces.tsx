import { ScrollRegion } from "@/components/ui/scroll-region";
import type { TaskDetail } from "@/lib/contract/task-api";
import { plural } from "@/lib/format/numbers";

/** Names that the tests call, as the interface prompt states them. */
export function TaskInterfaces({ interfaces }: { interfaces: TaskDetail["interfaces"] }) {
  return (
    <section aria-labelledby="interfaces">
      <h2 id="interfaces">Interfaces</h2>
      {interfaces.length === 0 ? (
        <p className="empty">The tests call nothing that the change would have to name in a certain way.</p>
      ) : (
        <ScrollRegion label="Interfaces">
          <table className="plain interfaces">
            <caption className="sr-only">Interfaces that the tests call</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Kind</th>
                <th scope="col">Signature</th>
                <th scope="col">Called by</th>
              </tr>
            </thead>
            <tbody>
              {interfaces.map((entry) => (
                <tr key={`${entry.kind} ${entry.symbol}`}>
                  <th scope="row">
                    <code>{entry.symbol}</code>
                  </th>
                  <td>{entry.kind}</td>
                  <td>
                    <code>{entry.signature}</code>
                  </td>
                  <td>
                    {entry.used_by.length > 0
                      ? `${entry.used_by.length} ${plural(entry.used_by.length, "test")}`
                      : "not stated"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
  );
}
