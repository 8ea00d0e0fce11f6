import type { SuiteChoice } from "@/components/leaderboard/suite-choice";
import type { CompareAnswer } from "@/lib/contract/compare-api";
import { countWord, plural } from "@/lib/format/numbers";
import type { CompareView } from "@/lib/prepare/compare-view";
import { compareFinding, pairNames } from "@/lib/prepare/compare-words";
import { CompareControls } from "./compare-controls";
import { ComparisonSections } from "./comparison-sections";
import { PairTable } from "./pair-table";

/** Why there is no comparison although both sides were named. */
function Notice({ answer: { state, a, ran } }: { answer: CompareAnswer }) {
  if (state === "same" && a)
    return (
      <p className="notice">
        A and B are both <bdi>{a.model}</bdi>: an entry differs from itself on no task. Choose another one for A or B.
      </p>
    );
  if (!ran) return null;
  const [nameA, nameB] = pairNames(ran.a.entry, ran.b.entry);
  const places = (suites: readonly { title: string; version: string }[]) =>
    suites.map(({ title, version }) => `${title} ${version}`).join(", ");
  return (
    <p className="notice">
      {nameA} ran on {places(ran.a.suites)}; {nameB} on {places(ran.b.suites)}. A comparison is over the tasks of one
      suite version that both ran, and here there is none.
    </p>
  );
}

/** Two entries task by task, or pairs worth a look until both are chosen. */
export function ComparePage({
  answer,
  view,
  suites,
}: {
  answer: CompareAnswer;
  view: CompareView;
  suites: readonly SuiteChoice[];
}) {
  const { comparison, suite, pairs, entries } = answer;
  const finding = comparison ? compareFinding(comparison) : null;
  return (
    <>
      <div className="finding">
        <h1>{finding?.headline ?? "Compare two entries"}</h1>
        <p className="lead">
          {finding?.lead ??
            `Who resolves which of the ${suite.taskCount} ${plural(suite.taskCount, "task")} of ${suite.title} ${suite.version}, and whether the difference means anything: ${countWord(entries.length)} ${plural(entries.length, "entry", "entries")} to choose from.`}
        </p>
      </div>
      <CompareControls answer={answer} view={view} suites={suites} />
      <Notice answer={answer} />
      {comparison ? (
        <ComparisonSections comparison={comparison} suite={suite} />
      ) : pairs.length > 0 ? (
        <PairTable answer={answer} />
      ) : (
        <p className="empty">
          {entries.length === 0
            ? "No entry has a published row on this suite version yet, so there is nothing to compare."
            : "A comparison needs a second entry with a published row on this suite version."}
        </p>
      )}
    </>
  );
}
