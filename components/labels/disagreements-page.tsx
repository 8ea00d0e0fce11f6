import { ScrollRegion } from "@/components/ui/scroll-region";
import type { Disagreement } from "@/lib/contract/label-facts";
import { visibleText } from "@/lib/format/visible-text";
import { splitTestId } from "@/lib/prepare/attempt";
import { labelHref } from "@/lib/prepare/label-view";
import { LabelBar } from "./label-page";

interface Props {
  person: { pseudonym: string; role: "annotator" | "maintainer" | null };
  disagreements: Disagreement[];
  more: boolean;
}

/** Failures that people label differently; until a maintainer decides, the rule's label counts. */
export function DisagreementsPage({ person, disagreements, more }: Props) {
  const decides = person.role === "maintainer";
  return (
    <>
      <LabelBar person={person} />
      <div className="page-head">
        <h1>Disagreements</h1>
        <p className="lead">
          Failures that people label differently. Until a maintainer decides, the rule’s label counts.
          {decides ? "" : " You see those that you have labelled yourself."}
        </p>
      </div>
      {more ? <p className="notice">The first {disagreements.length} are shown; decide some to see others.</p> : null}
      {disagreements.length === 0 ? (
        <p className="empty">People agree on every failure that more than one of them has labelled.</p>
      ) : (
        <ScrollRegion label="Disagreements">
          <table className="plain disagreements">
            <caption>Open ones first</caption>
            <thead>
              <tr>
                <th scope="col">Failure</th>
                <th scope="col">Labels</th>
                <th scope="col">Decision</th>
              </tr>
            </thead>
            <tbody>
              {disagreements.map((row) => {
                const at = { grading: row.grading, test: row.test };
                return (
                  <tr key={`${row.grading} ${row.test}`}>
                    <th scope="row">
                      <a href={labelHref({ filter: {}, at, adjudicate: decides })}>
                        <code>{splitTestId(row.name).name}</code>
                      </a>
                      <small>
                        {row.task}
                        {row.line ? `: ${visibleText(row.line)}` : ""}
                      </small>
                    </th>
                    <td>
                      {row.labels.map(({ by, type }) => (
                        <div key={by}>
                          <code>{by}</code> {type}
                        </div>
                      ))}
                    </td>
                    <td>{row.decision ?? "open"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </>
  );
}
