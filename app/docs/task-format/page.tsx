import type { Metadata } from "next";
import { DocumentHead } from "@/components/docs/document-head";
import { FileTable } from "@/components/docs/file-table";
import { properties } from "@/lib/contract/vocabulary";
import { findDocument } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

const { title, summary } = findDocument("/docs/task-format");

export const metadata: Metadata = { title, description: summary };

const files = [
  ["task.toml", "Harbor’s keys; ours under [metadata.infradev]: prompts, groups, protected paths, needs"],
  ["instruction.md", "the default prompt: every interface and requirement that a probe checks, and no solution"],
  ["prompts/pr-description.md", "the prompt in the words of the pull request"],
  [
    "interfaces.json",
    "each symbol that probes use and that the change brings in or alters, with the probes that use it",
  ],
  ["environment/", "what the agent’s container is made of"],
  ["tests/tests.json", "every test: kind, group, property, requirement, needs, limit"],
  ["tests/official/", "tests that came with the change; they are laid over the checkout"],
  ["tests/probes/", "tests of what the official tests leave open; they stand outside of the checkout"],
  ["tests/files.sha256", "digests of tests/, written by task seal"],
  ["solution/gold.patch", "the reference change"],
  ["mutants/", "changes with one mistake each that pass every official test; each must fail a probe"],
] as const;

export default function Page() {
  return (
    <div className="prose">
      <DocumentHead title={title} lead={summary} />
      <p>
        A task’s folder is a Harbor task (schema 1), so that Harbor’s users can run it, plus what grading on many ranks
        needs. Keys that are not known are kept.
      </p>
      <FileTable caption="Files of a task" files={files} />

      <h2 id="groups">Groups</h2>
      <p>
        A group is one kind of launch: its launcher (<code>ranks</code>, <code>torchrun</code>, <code>pytest</code> or{" "}
        <code>script</code>), the number of processes, time limits of the group and of each test, and whether each test,
        each file or the whole group gets a launch of its own.
      </p>

      <h2 id="tests">Tests</h2>
      <p>
        <code>FAIL_TO_PASS</code> and <code>PASS_TO_PASS</code> list the ids. Each test has a kind (
        <code>official</code> or <code>probe</code>), its group, the ranks that must pass (all by default), what it
        needs, and the property that its assertions check: {properties.join(", ")}. A test is required where the suite’s
        standard launch meets its needs and gold passes it there; another is listed as not required, with the reason.
      </p>
      <p>
        A resource test states resource, unit and limit, absolute or as a ratio to base or gold on the same host, and
        who measures: the test itself or a meter outside of its process.
      </p>

      <h2 id="upstream">Sources by reference</h2>
      <p>
        A task made from a public pull request copies nothing of it. <code>[metadata.infradev.upstream]</code> names
        repository, base and merge commit, the official tests with their digests, and what is left out; base, tests and
        gold are read at run time from a clone of yours, and checked by commit and digest.
      </p>

      <h2 id="digests">Digests</h2>
      <p>
        The prompt digest names what the agent sees, the grading digest what decides the verdict: manifest, tests,
        launches, protected paths. Mutants and reports are part of neither. An attempt and its grading name both.
      </p>

      <h2 id="lint">What task check refuses</h2>
      <ul>
        <li>
          A symbol that a probe uses, that base lacks or the change alters, and that prompt or interfaces leave out.
        </li>
        <li>A prompt that gives the solution away: a line of gold, or a name that only gold brings in.</li>
        <li>Ids that the manifest lists and no rank collects, or the reverse; digests that differ.</li>
      </ul>

      <h2 id="gate">The gate</h2>
      <ul>
        <li>Without a change every fail-to-pass test fails, and every pass-to-pass test passes.</li>
        <li>Gold passes all that is required, five times of five.</li>
        <li>Each mutant passes every official test and fails at least one probe.</li>
        <li>Each exploit of the self-test is prevented or detected.</li>
      </ul>
      <p>The report is signed, and is the task’s admission to its suite.</p>

      <h2 id="suite">The suite</h2>
      <p>
        <code>suite.toml</code> names slug, version, title, summary, whether probes are <code>open</code> or{" "}
        <code>hidden</code>, and the tasks in their order; <code>[standard]</code> states the configuration that its
        rows are meant to share. <code>runner suite pack</code> makes of it the document that a site imports; tests stay
        with the runner.
      </p>
    </div>
  );
}
