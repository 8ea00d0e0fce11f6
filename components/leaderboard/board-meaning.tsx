import type { Board } from "@/lib/contract/api";
import { plural } from "@/lib/format/numbers";
import { categoryLabels, conditionLabels } from "@/lib/prepare/labels";
import { winsNeededText } from "@/lib/prepare/power";

/** What the numbers say, and what they do not establish. */
export function Meaning({ board }: { board: Board }) {
  const repositories = board.suite.categoryCounts
    .map(({ category, count }) => `${count} ${categoryLabels[category]}`)
    .join(", ");
  return (
    <section className="meaning" aria-labelledby="meaning">
      <h2 id="meaning">What the numbers mean</h2>
      <div className="columns">
        <div>
          <h3>They say</h3>
          <p>
            A task is one real change to reimplement. It is <em>resolved</em> when every required test passes on every
            required rank: the official tests of the change, and probes that enforce what those leave unchecked. A task
            without a grading counts as not resolved.
          </p>
          <p>
            A <em>rank set</em> holds every position that the data leave open: one plus the entries that are
            significantly better, to the number of entries less those significantly worse (exact paired tests,
            Holm-adjusted over all pairs, 5 %). Sorting and categories never change it.
          </p>
          <p>{winsNeededText(board)}</p>
        </div>
        <div>
          <h3>They do not establish</h3>
          <p>
            Readiness for production, or ability on other code bases: {board.suite.taskCount}{" "}
            {plural(board.suite.taskCount, "task")} ({repositories}), one prompt condition (
            {conditionLabels[board.promptCondition]}), and for each row the model, agent and budget that it names.
            Overlapping intervals are no test, and a higher number alone is no lead.
          </p>
          <p>
            <a href="/docs/methodology">Methodology</a>: every definition and constant.{" "}
            <a href="/docs/verify">Verify</a>: check any graded number yourself.
          </p>
        </div>
      </div>
    </section>
  );
}
