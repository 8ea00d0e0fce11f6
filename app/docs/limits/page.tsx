import type { Metadata } from "next";
import { DocumentHead } from "@/components/docs/document-head";
import { findDocument } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

const { title, summary } = findDocument("/docs/limits");

export const metadata: Metadata = { title, description: summary };

export default function Page() {
  return (
    <div className="prose">
      <DocumentHead title={title} lead={summary} />

      <h2 id="establish">What they establish</h2>
      <ul>
        <li>
          That these patches pass, or fail, exactly these tests on the hosts named. Every graded number leads to signed
          evidence, and <a href="/docs/verify">anyone can check it</a>.
        </li>
        <li>
          That official tests alone let wrong changes pass, and how many of this entry’s: each rejection names the probe
          and the requirement that it enforces.
        </li>
        <li>
          That two entries differ on this board’s tasks beyond chance, where their rank sets do not overlap. The test is
          exact, on paired verdicts, and adjusted for every pair of the board.
        </li>
        <li>
          How an entry of this model, agent, prompt condition, skill, network policy and budget fared. A different value
          of any of these is another entry.
        </li>
      </ul>

      <h2 id="not">What they do not</h2>
      <ul>
        <li>Readiness for production. A resolved task passed its tests; nobody reviewed it or ran it in service.</li>
        <li>
          Ability on other code. The published suite has 36 tasks from three repositories (Megatron-LM, vLLM, verl). No
          interval on this site speaks of tasks outside of the suite.
        </li>
        <li>
          A model’s ability apart from its agent. The published rows state model and agent; where effort, network or
          budget was not stated, the row says “not stated”, and nothing is assumed.
        </li>
        <li>
          An order among entries whose rank sets overlap. Six entries on 36 tasks need{" "}
          <a href="/docs/methodology#ranking">ten tasks won and none lost</a> before two of them are told apart.
        </li>
        <li>
          That a change is free of faults. Probes enforce the requirements that were written down; they are more than
          the official tests, and not everything.
        </li>
        <li>
          That a task was unseen in training. The changes of public suites are public, and so are open probes. Hidden
          probes keep their text until their date.
        </li>
        <li>
          Time, cost, tokens and steps of a run as measured facts. They are the run’s own statement on every tier; tests
          and resources are measured here.
        </li>
        <li>
          Speed on other hardware. Limits of time are ratios to the base or the reference change on the same host in the
          same grading, and decide only where a wrong change costs several times as much.
        </li>
      </ul>

      <h2 id="tiers">What a tier adds</h2>
      <p>
        “Reported” rests on the publication. “Signed” proves who stated the outcomes and that they are consistent, not
        that anybody ran them. “Verified” adds that a host trusted by the benchmark ran them under a lease. “Reproduced”
        adds a second operator’s agreement in every outcome. See <a href="/docs/methodology#provenance">provenance</a>.
      </p>

      <h2 id="suites">What the bundled suites are for</h2>
      <p>
        Suites that come with the program show how grading works on any machine and keep it testable. Their reference
        patch sets are graded to show that the grader tells right from wrong. They rank nobody’s real ability.
      </p>
    </div>
  );
}
