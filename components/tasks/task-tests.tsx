import { ScrollRegion } from "@/components/ui/scroll-region";
import type { TaskDetail, TaskTest } from "@/lib/contract/task-api";
import { type TestKind, testKinds } from "@/lib/contract/vocabulary";
import { missingValue, plural } from "@/lib/format/numbers";
import { splitTestId } from "@/lib/prepare/attempt";
import { propertyLabels } from "@/lib/prepare/labels";
import { limitInWords, needsInWords, referencesInWords, testsByProperty } from "@/lib/prepare/tasks";

const titles: Record<TestKind, string> = { official: "Official tests", probe: "Probes" };

function TestName({ test }: { test: TaskTest }) {
  const { file, name } = splitTestId(test.id);
  return (
    <th scope="row" className="test-name">
      <code>{name}</code>
      <small>{file}</small>
      {test.requirement ? <small className="requirement">{test.requirement}</small> : null}
      {test.condition ? <small className="requirement">Under {test.condition}</small> : null}
      {test.required ? null : (
        <small className="requirement">Not required{test.notRequiredReason ? `: ${test.notRequiredReason}` : ""}</small>
      )}
    </th>
  );
}

function Limit({ limit }: { limit: TaskTest["limit"] }) {
  if (!limit) return missingValue;
  const { bound, meter } = limitInWords(limit);
  return (
    <>
      {bound}
      <small>{meter}</small>
    </>
  );
}

function Expectation({ expectation }: { expectation: TaskTest["expectation"] }) {
  if (!expectation) return missingValue;
  return expectation === "f2p" ? (
    <abbr title="fails before the change, passes after">✗ → ✓</abbr>
  ) : (
    <abbr title="passes before and after the change">✓ → ✓</abbr>
  );
}

function TestRow({ test, entries }: { test: TaskTest; entries: number }) {
  const references = referencesInWords(test.references);
  return (
    <tr>
      <TestName test={test} />
      {test.hidden ? (
        <td colSpan={3} className="muted">
          hidden: what it asserts is not public
        </td>
      ) : (
        <>
          <td>
            <Expectation expectation={test.expectation} />
          </td>
          <td>{test.needs ? needsInWords(test.needs, test.ranks) : missingValue}</td>
          <td>
            <Limit limit={test.limit} />
          </td>
        </>
      )}
      <td className="num">{entries > 0 ? `${test.passedBy}/${entries}` : missingValue}</td>
      <td>
        {references ? (
          <>
            {references.passed}
            {references.others ? <small>not {references.others}</small> : null}
          </>
        ) : (
          missingValue
        )}
      </td>
    </tr>
  );
}

function TestTable({ detail, kind }: { detail: TaskDetail; kind: TestKind }) {
  const groups = testsByProperty(detail.tests, kind);
  if (groups.length === 0)
    return kind === "probe" ? <p className="empty">No probe stands beside the official tests.</p> : null;
  const tests = groups.flatMap((group) => group.tests);
  const required = tests.filter((test) => test.required).length;
  return (
    <ScrollRegion label={titles[kind]}>
      <table className="plain outcomes">
        <caption>
          {titles[kind]}{" "}
          <span className="count">
            {required === tests.length ? `${required}, all required` : `${required} of ${tests.length} required`}
          </span>
        </caption>
        <thead>
          <tr>
            <th scope="col">Test and requirement</th>
            <th scope="col">Before, after</th>
            <th scope="col">Needs</th>
            <th scope="col">Limit and meter</th>
            <th scope="col" className="num">
              Entries
              <br />
              that pass
            </th>
            <th scope="col">
              Reference sets
              <br />
              that pass
            </th>
          </tr>
        </thead>
        {groups.map(({ property, tests: members }) => (
          <tbody key={property}>
            <tr className="property">
              <th scope="rowgroup" colSpan={6}>
                Checks {propertyLabels[property]}{" "}
                <span className="count">
                  {members.length} {plural(members.length, "test")}
                </span>
              </th>
            </tr>
            {members.map((test) => (
              <TestRow key={test.id} test={test} entries={detail.solving.entries} />
            ))}
          </tbody>
        ))}
      </table>
    </ScrollRegion>
  );
}

/** A task's tests by kind and property, each with what it demands and who passes it. */
export function TaskTests({ detail }: { detail: TaskDetail }) {
  const hidden = detail.suite.probes === "hidden";
  return (
    <section aria-labelledby="tests">
      <h2 id="tests">Requirements and tests</h2>
      {hidden ? (
        <p className="notice">
          The probes of this suite are hidden: of each its id, property and verdicts are public, and nothing else.
        </p>
      ) : null}
      {testKinds.map((kind) => (
        <TestTable key={kind} detail={detail} kind={kind} />
      ))}
    </section>
  );
}
