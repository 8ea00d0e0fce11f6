import type { Metadata } from "next";
import { DocumentHead } from "@/components/docs/document-head";
import { findDocument } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

const { title, summary } = findDocument("/docs/own-suite");

export const metadata: Metadata = { title, description: summary };

export default function Page() {
  return (
    <div className="prose">
      <DocumentHead title={title} lead={summary} />
      <p>
        Nothing of a suite has to leave your machines: the site, the database and the runner are one repository, and the
        runner has no network while it grades. Give the site to your colleagues only, and the evaluation is private.
      </p>

      <h2 id="change">1. Choose a change</h2>
      <p>
        Take a merged change that spans several source files, runs on several ranks, and whose review found something
        that its tests had not. One change is one task. The task holds the code base before it, or names the commit from
        which it is read.
      </p>

      <h2 id="probes">2. Write down what its tests leave open</h2>
      <p>
        List the mistakes that a good engineer could make and that the official tests would let pass. Each becomes a
        mutant, a patch with that one mistake. The requirement that it breaks goes into the prompt, and a probe checks
        it. A probe calls only interfaces that the prompt states.
      </p>

      <h2 id="task">3. Write the task</h2>
      <p>
        <a href="/docs/task-format">Task format</a> lists the files. Start from a task of{" "}
        <code>runner/suites/infradev-mini</code>; your suite is a folder with a <code>suite.toml</code> and{" "}
        <code>tasks/</code> beside it. Set <code>probes = "hidden"</code> where agents or their vendors can read the
        site.
      </p>
      <pre className="commands">{`npm run runner -- task seal --suite ~/my-suite       # digests of base and tests
npm run runner -- task check --suite ~/my-suite      # interfaces, give-aways, ids, digests`}</pre>

      <h2 id="gate">4. Let it through the gate</h2>
      <pre className="commands">{"npm run runner -- task validate --suite ~/my-suite"}</pre>
      <p>
        No change must fail every fail-to-pass test, the right change must pass everything five times of five, and each
        mutant must pass all official tests and fail a probe. A task that does not come through says which part failed;
        do not use it before it does.
      </p>

      <h2 id="import">5. Import it</h2>
      <pre className="commands">{`npm run runner -- suite pack ~/my-suite --out my-suite.json
npm run admin -- suite import my-suite.json
npm run admin -- submission create --suite my-suite --reference all`}</pre>
      <p>
        The reference patch sets are graded first: where gold does not resolve everything on your host, or a mutant
        does, the host is not fit for this suite.
      </p>

      <h2 id="host">6. Attach a host and submit</h2>
      <pre className="commands">{`npm run admin -- token mint --trusted
npm run runner -- attach --server http://127.0.0.1:3000 --token TOKEN --suite ~/my-suite
npm run admin -- submission create --suite my-suite --patches ~/patches --candidate candidate.json`}</pre>
      <p>
        <code>~/patches</code> holds one <code>{"<task>.diff"}</code> for each task; the candidate file says which
        model, agent, prompt condition and budget made them. Each number on the board then leads to its evidence, as
        here.
      </p>

      <h2 id="care">What to take care of</h2>
      <ul>
        <li>
          Agents must not see <code>tests/</code>, <code>solution/</code>, <code>mutants/</code>, or the merge commit.
        </li>
        <li>
          A few tasks tell few entries apart: <a href="/docs/methodology#ranking">what a difference needs</a> says how
          many.
        </li>
        <li>
          A change of wording is a patch version of the suite, one that needs regrading a minor version, one that needs
          new runs a major version.
        </li>
      </ul>
    </div>
  );
}
