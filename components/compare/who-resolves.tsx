import type { CompareAnswer, Comparison, PairedTest } from "@/lib/contract/compare-api";
import { capitalize, plural } from "@/lib/format/numbers";
import { methodLabels, needInWords, verdictInWords } from "@/lib/prepare/compare-words";
import { categoryLabels } from "@/lib/prepare/labels";
import { PValue } from "./pair-table";

function FourFold({ counts, often }: { counts: NonNullable<PairedTest["counts"]>; often: boolean }) {
  const { both, onlyA, onlyB, neither } = counts;
  const more = often ? " more often" : "";
  const cell = (count: number, label: string, discordant = false) => (
    <td className={discordant ? "num discordant" : "num"}>
      <b>{count}</b>
      <small>{label}</small>
    </td>
  );
  return (
    <table className="plain four-fold">
      <caption>Tasks by who resolves them</caption>
      <thead>
        <tr>
          <td />
          <th scope="col" className="num">
            B resolves
          </th>
          <th scope="col" className="num">
            B does not
          </th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">A resolves</th>
          {cell(both, often ? "both, as often" : "both")}
          {cell(onlyA, often ? `A${more}` : "only A", true)}
        </tr>
        <tr>
          <th scope="row">A does not</th>
          {cell(onlyB, often ? `B${more}` : "only B", true)}
          {cell(neither, "neither")}
        </tr>
      </tbody>
    </table>
  );
}

function Strata({ strata }: { strata: NonNullable<Comparison["strata"]> }) {
  return (
    <table className="plain strata">
      <caption>Resolved, by counts per category</caption>
      <thead>
        <tr>
          <th scope="col">Category</th>
          <th scope="col" className="num">
            Tasks
          </th>
          <th scope="col" className="num">
            A
          </th>
          <th scope="col" className="num">
            B
          </th>
          <th scope="col" className="num">
            Both
          </th>
        </tr>
      </thead>
      <tbody>
        {strata.map(({ category, total, a, b, bothLeast, bothMost }) => (
          <tr key={category}>
            <th scope="row">{categoryLabels[category]}</th>
            <td className="num">{total}</td>
            <td className="num">{a}</td>
            <td className="num">{b}</td>
            <td className="num">{bothLeast === bothMost ? bothMost : `${bothLeast} to ${bothMost}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The 2 x 2 table or, without per-task data, the counts that bound it, beside the test. */
export function WhoResolves({ comparison, suite }: { comparison: Comparison; suite: CompareAnswer["suite"] }) {
  const { test, strata } = comparison;
  const { counts } = test;
  const discordant = counts ? counts.onlyA + counts.onlyB : 0;
  return (
    <section aria-labelledby="who">
      <h2 id="who">Who resolves what</h2>
      <div className="two who-resolves">
        {counts ? <FourFold counts={counts} often={test.method === "sign-flip"} /> : null}
        {strata && strata.length > 0 ? <Strata strata={strata} /> : null}
        <div>
          <dl className="facts">
            <dt>Finding</dt>
            <dd>{capitalize(verdictInWords(test))}</dd>
            <dt>Test</dt>
            <dd>
              {methodLabels[test.method]}
              {counts ? `, ${discordant} discordant ${plural(discordant, "task")}` : ""}
            </dd>
            <dt>p, this pair alone</dt>
            <dd>
              <PValue p={test.p} />
            </dd>
            <dt>p, Holm</dt>
            <dd>
              {test.adjusted ? (
                <>
                  <PValue p={test.adjusted.p} /> over {test.adjusted.pairs} {plural(test.adjusted.pairs, "pair")} of the
                  board
                </>
              ) : (
                "not adjusted: the two are not ranked on one board"
              )}
            </dd>
          </dl>
          <p className="aside">
            {needInWords(test, suite.taskCount)}{" "}
            {counts
              ? "Only tasks that one of the two resolves alone say which is better."
              : "The smaller p supposes that the tasks of one are all among those of the other, the larger that they share as few as the counts allow."}
          </p>
        </div>
      </div>
    </section>
  );
}
