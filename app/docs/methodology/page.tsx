import type { Metadata } from "next";
import { tiers } from "@/lib/contract/vocabulary";
import { tierMeanings } from "@/lib/prepare/labels";
import { constants, powerTable } from "@/lib/prepare/methodology";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Methodology",
  description: "What is measured, how entries are ranked, and what the numbers do and do not establish.",
};

export default function Page() {
  return (
    <div className="prose">
      <div className="page-head">
        <h1>Methodology</h1>
        <p className="lead">What is measured, how entries are ranked, and what the numbers do and do not establish.</p>
      </div>

      <h2 id="measured">What is measured</h2>
      <dl>
        <dt>Task</dt>
        <dd>
          One real change to reimplement: a code base before the change, a prompt, and tests. <em>Official</em> tests
          came with the change. <em>Probes</em> are hidden from the agent and enforce what the official tests leave
          unchecked: values, shapes, state, memory, speed, traffic, and behaviour under particular configurations.
        </dd>
        <dt>Resolved</dt>
        <dd>
          Every required test of the task passes on every required rank. A test is required where the suite’s standard
          launch meets its needs and the change as merged passes it there. A task without a grading counts as not
          resolved and is shown as missing.
        </dd>
        <dt>Official-resolved, probe rejection</dt>
        <dd>
          The same with official tests only; probe rejection is the share of official-resolved attempts that the probes
          reject, counted by attempt where tasks have several.
        </dd>
        <dt>% passed</dt>
        <dd>Passed over required tests of a task, averaged over the suite’s tasks.</dd>
        <dt>Discrimination</dt>
        <dd>
          Of a task: the correlation of its score with the entry’s mean over all other tasks (item-rest correlation),
          over the ranked entries of every prompt condition and skill.
        </dd>
        <dt>Time, cost, tokens, steps</dt>
        <dd>
          The agent’s own run, means per task: minutes, US dollars at the list prices of the run’s date, tokens with
          cached input, completed model turns.
        </dd>
      </dl>

      <h2 id="outcomes">How an outcome is decided</h2>
      <p>
        Each rank writes one event stream while it runs; the streams, read against the task’s manifest, decide. An exit
        code, a report file of one rank, or printed text never do. A test passes only if every required rank passed it.
        A start without an end is a crash or a hang; a test that nothing reported did not pass; a skipped test never
        passes. A group of tests that reaches its time limit is ended and the grading is completed: what was running
        hung, what had not begun was not run. The status <em>candidate’s time-out</em> is a word of the evidence format
        that this runner never gives. A host’s fault is not the candidate’s: it is rerun, and until then the row is
        provisional and unranked.
      </p>

      <h2 id="ranking">Ranking</h2>
      <p>
        Entries are ordered by % resolved. The position shown is a <em>rank set</em>: from one plus the entries that are
        significantly better, to the number of entries less those that are significantly worse. Each pair is compared by
        the exact two-sided McNemar test on its paired verdicts, adjusted by Holm’s method over all pairs of the board.
        Where tasks have several attempts a task’s score is the mean over all of them, one without a grading counting as
        not resolved; the row has no Wilson interval, and the pair is compared by a sign-flip test on the tasks’ mean
        differences. Filters, sorting and categories never change a rank set.
      </p>
      <p>
        Where a row has counts only, as published rows do, the pairing of its tasks is unknown. The counts still bound
        the test: two rows are told apart only if even the least favourable pairing is significant, and are declared
        inseparable only if even the most favourable is not. Between these the page says that the published counts do
        not tell.
      </p>
      <table className="plain">
        <caption>What a difference needs: tasks won by one entry alone, with none lost</caption>
        <thead>
          <tr>
            <th scope="col" className="num">
              Entries
            </th>
            <th scope="col" className="num">
              Pairs
            </th>
            <th scope="col" className="num">
              Tasks to win
            </th>
          </tr>
        </thead>
        <tbody>
          {powerTable.map((row) => (
            <tr key={row.entries}>
              <th scope="row" className="num">
                {row.entries}
              </th>
              <td className="num">{row.pairs}</td>
              <td className="num">{row.wins}</td>
            </tr>
          ))}
        </tbody>
      </table>

      <h2 id="constants">Constants</h2>
      <table className="plain">
        <caption className="sr-only">Constants of the statistics</caption>
        <thead>
          <tr>
            <th scope="col">Constant</th>
            <th scope="col">Value</th>
            <th scope="col">Used for</th>
          </tr>
        </thead>
        <tbody>
          {constants.map((constant) => (
            <tr key={constant.name}>
              <th scope="row">{constant.name}</th>
              <td>{constant.value}</td>
              <td>{constant.use}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="aside">
        Sources: E. B. Wilson, JASA 22 (1927) 209; Q. McNemar, Psychometrika 12 (1947) 153; R. A. Fisher, The Design of
        Experiments (1935) 21; S. Holm, Scand. J. Statist. 6 (1979) 65; B. Efron, Ann. Statist. 7 (1979) 1; M. Chen et
        al., arXiv:2107.03374.
      </p>

      <h2 id="provenance">Provenance</h2>
      <dl>
        {tiers.map((tier) => (
          <div key={tier}>
            <dt>{tier}</dt>
            <dd>{tierMeanings[tier]}</dd>
          </div>
        ))}
      </dl>
      <p>
        A tier is computed from evidence, never typed in. Of several gradings of an attempt the one of the highest tier
        counts, then the newest; a vendor’s never displaces a trusted host’s.
      </p>

      <h2 id="limits">What the numbers do not establish</h2>
      <ul>
        <li>Readiness for production. A resolved task passed its tests; nobody reviewed or ran it in service.</li>
        <li>Ability on other code bases, languages or hardware: a suite is a few tasks of a few repositories.</li>
        <li>
          A model’s ability apart from its agent, prompt condition, budget and network policy: an entry is all of these
          together.
        </li>
        <li>An order among entries whose rank sets overlap, however far apart their bars look.</li>
        <li>That a task was unseen in training: the changes of public suites are public.</li>
      </ul>
    </div>
  );
}
