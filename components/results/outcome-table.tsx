import { ScrollRegion } from "@/components/ui/scroll-region";
import type { AttemptDetail } from "@/lib/contract/api";
import type { TestKind } from "@/lib/contract/vocabulary";
import { formatDuration } from "@/lib/format/times";
import { failureAnchor, type ShownTest, splitTestId } from "@/lib/prepare/attempt";
import { propertyLabels } from "@/lib/prepare/labels";
import { OutcomeStatusText, RankMark } from "./outcome-status";

function TestName({ test, detail }: { test: ShownTest; detail: AttemptDetail }) {
  const { file, name } = splitTestId(test.outcome.id);
  const failed = test.outcome.required && test.outcome.status !== "passed";
  return (
    <th scope="row" className="test-name">
      {failed ? (
        <a href={`#${failureAnchor(detail, test.outcome.id)}`}>
          <code>{name}</code>
        </a>
      ) : (
        <code>{name}</code>
      )}
      <small>{file}</small>
      {test.manifest?.requirement ? <small className="requirement">{test.manifest.requirement}</small> : null}
      {test.outcome.required ? null : (
        <small className="requirement">
          Not required{test.manifest?.notRequiredReason ? `: ${test.manifest.notRequiredReason}` : ""}
        </small>
      )}
    </th>
  );
}

/** Tests of one kind with what they check and what each rank said. */
export function OutcomeTable({ detail, tests, kind }: { detail: AttemptDetail; tests: ShownTest[]; kind: TestKind }) {
  const passed = tests.filter(({ outcome }) => outcome.required && outcome.status === "passed").length;
  const required = tests.filter(({ outcome }) => outcome.required).length;
  return (
    <ScrollRegion label={kind === "official" ? "Official tests" : "Probes"}>
      <table className="plain outcomes">
        <caption>
          {kind === "official" ? "Official tests" : "Probes"}{" "}
          <span className="count">
            {passed} of {required} required pass
          </span>
        </caption>
        <thead>
          <tr>
            <th scope="col">Test</th>
            <th scope="col">Checks</th>
            <th scope="col">Before, after</th>
            <th scope="col">Outcome</th>
            <th scope="col">Ranks</th>
            <th scope="col" className="num">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {tests.map((test) => (
            <tr key={test.outcome.id}>
              <TestName test={test} detail={detail} />
              <td>
                {test.manifest ? propertyLabels[test.manifest.property] : "—"}
                {test.manifest?.condition ? <small>{test.manifest.condition}</small> : null}
              </td>
              <td>
                <abbr
                  title={
                    test.outcome.expectation === "f2p"
                      ? "fails before the change, passes after"
                      : "passes before and after the change"
                  }
                >
                  {test.outcome.expectation === "f2p" ? "✗ → ✓" : "✓ → ✓"}
                </abbr>
              </td>
              <td>
                <OutcomeStatusText status={test.outcome.status} />
              </td>
              <td>
                <span className="rank-grid">
                  {test.outcome.ranks.map((rank) => (
                    <RankMark
                      key={rank.rank}
                      rank={rank.rank}
                      status={rank.status}
                      root={rank.rank === test.outcome.rootRank && test.outcome.status !== "passed"}
                    />
                  ))}
                </span>
              </td>
              <td className="num">{formatDuration(test.outcome.durationMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
