import { OutcomeStatusText } from "@/components/results/outcome-status";
import { ScrollRegion } from "@/components/ui/scroll-region";
import type { FailureDetailAnswer } from "@/lib/contract/failures-api";
import { formatNumber, missingValue, plural } from "@/lib/format/numbers";
import { splitTestId } from "@/lib/prepare/attempt";
import { failureHref } from "@/lib/prepare/failure-page";
import { failuresHref } from "@/lib/prepare/failure-view";
import { EntryName } from "./entry-name";

/** Other attempts with the same root failure. */
export function ClusterElsewhere({ answer }: { answer: FailureDetailAnswer }) {
  const { cluster } = answer;
  if (!cluster) return null;
  const { suite, entry } = answer.failure;
  const { signature } = cluster;
  const all = { suite: suite.slug, version: suite.version, entryKind: entry.kind, signature };
  return (
    <section aria-labelledby="cluster">
      <h2 id="cluster">The same failure elsewhere</h2>
      {cluster.elsewhere.length === 0 ? (
        <p className="aside">No other submission has a failure with this exception, message and place.</p>
      ) : (
        <>
          <p className="aside">
            {formatNumber(cluster.cases)} {plural(cluster.cases, "case")} in {formatNumber(cluster.attempts)}{" "}
            {plural(cluster.attempts, "attempt")} of {formatNumber(cluster.entries)}{" "}
            {plural(cluster.entries, "entry", "entries")} have this exception, message and place.{" "}
            <a href={`${failuresHref({ filter: all })}#cases`}>All of them</a>
          </p>
          <ScrollRegion label="The same failure elsewhere">
            <table className="plain">
              <caption className="sr-only">Other cases of the same failure</caption>
              <thead>
                <tr>
                  <th scope="col">Test</th>
                  <th scope="col">Entry</th>
                  <th scope="col">Task</th>
                </tr>
              </thead>
              <tbody>
                {cluster.elsewhere.map((row) => (
                  <tr key={`${row.address.grading} ${row.address.test}`}>
                    <th scope="row" className="test-name">
                      <a href={failureHref(row.address)}>
                        <code>{splitTestId(row.test.id).name}</code>
                      </a>
                    </th>
                    <td>
                      <EntryName entry={row.entry} />
                    </td>
                    <td>
                      <a href={`/submissions/${row.submissionId}/${row.task.slug}`}>{row.task.title}</a>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollRegion>
        </>
      )}
    </section>
  );
}

/** What the same test did for every entry. */
export function SameTest({ answer }: { answer: FailureDetailAnswer }) {
  if (answer.sameTest.length === 0) return null;
  const { slug } = answer.failure.task;
  return (
    <section aria-labelledby="same-test">
      <h2 id="same-test">This test for every entry</h2>
      <ScrollRegion label="This test for every entry">
        <table className="plain">
          <caption className="sr-only">What this test did for every entry</caption>
          <thead>
            <tr>
              <th scope="col">Entry</th>
              <th scope="col">Outcome</th>
              <th scope="col">Type</th>
              <th scope="col">Failure</th>
            </tr>
          </thead>
          <tbody>
            {answer.sameTest.map((one) => (
              <tr key={one.submissionId}>
                <th scope="row">
                  <a href={`/submissions/${one.submissionId}/${slug}`}>
                    <bdi>{one.entry.model}</bdi>
                  </a>
                </th>
                <td>{one.status ? <OutcomeStatusText status={one.status} /> : "not graded"}</td>
                <td>{one.type ?? missingValue}</td>
                <td>{one.address ? <a href={failureHref(one.address)}>failure</a> : missingValue}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
