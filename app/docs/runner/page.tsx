import type { Metadata } from "next";
import { DocumentHead } from "@/components/docs/document-head";
import { FileTable } from "@/components/docs/file-table";
import { trajectoryLimits, trajectoryVersions } from "@/lib/contract/trajectory";
import { formatNumber } from "@/lib/format/numbers";
import { findDocument } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

const { title, summary } = findDocument("/docs/runner");

export const metadata: Metadata = { title, description: summary };

const commands = [
  ["doctor", "what this host can run, what is missing, and the remedy of each"],
  ["grade <task> --patch F", "grade a patch here, without a server, and write its signed bundle"],
  ["attach --server URL --token T", "register this host and grade what the server queues"],
  ["upload <bundle> --server URL", "send a self-made bundle, signed by a registered vendor key"],
  ["verify <bundle> --keys F", "check a bundle, and say what that proves"],
  ["task seal, check, validate", "author tasks: digests, lint, gate"],
  ["suite pack [dir] --out F", "write the document that a server imports"],
  ["selftest", "attack the grader on this host with patches that cheat"],
  ["host-run", "self-test, gate of every task and overhead, in parts that are gone on with"],
] as const;

const mebibytes = (bytes: number) => `${formatNumber(bytes / 1024 ** 2)} MiB`;
const [firstVersion, lastVersion] = [trajectoryVersions[0], trajectoryVersions.at(-1)];

export default function Page() {
  return (
    <div className="prose">
      <DocumentHead title={title} lead={summary} />
      <h2 id="needs">What a host needs</h2>
      <ul>
        <li>Linux with Node 20.19 or newer, git, and Python 3.10 or newer with pytest.</li>
        <li>
          bubblewrap for sandboxed grading. Without a sandbox (<code>--executor process</code>) a row reaches “signed”,
          never “verified”.
        </li>
        <li>GPUs where a suite’s tasks ask for them; launches are on one host.</li>
      </ul>
      <pre className="commands">{"npm run runner -- doctor"}</pre>

      <h2 id="commands">Commands</h2>
      <FileTable caption="Commands of the runner" files={commands} head={["Command", "What it does"]} />
      <p>
        All start with <code>npm run runner --</code>; <code>npm run build:runner</code> makes one file that needs no
        npm packages. <code>--json</code> prints one document on standard output. Exit code 0: done, or resolved; 1: the
        answer is no; 2: wrong use, a malformed file, or an environment that cannot do it.
      </p>

      <h2 id="grade">Grade a patch of your own</h2>
      <pre className="commands">{`npm run runner -- grade router-abort-leak --patch ~/my.patch --candidate '{"model": "My model", "agent": "My agent"}'
npm run runner -- verify .data/gradings/<grading id>.infradev.tar.gz --keys .data/runner/key.pub.pem`}</pre>
      <p>
        The first makes the key that signs. A site registers it once (<code>npm run admin -- key add</code>); what a
        registered vendor key signed reaches the tier “signed”.
      </p>

      <h2 id="trajectory">Say what the agent did</h2>
      <pre className="commands">{`npm run runner -- grade router-abort-leak --patch ~/my.patch --trajectory ~/run/agent/trajectory.json --candidate ...`}</pre>
      <p>
        A trajectory is a file in the Agent Trajectory Interchange Format ({firstVersion} to {lastVersion}), as Harbor
        and the agents that it runs write it. The runner reads it before it grades and takes out of every text what
        looks like a token or a private key, values of this host’s environment variables, its home folder and its name;
        the result stands in the bundle as <code>payload/agent/trajectory.json</code> and is signed with it. The site
        shows it step by step, on the attempt’s page, and what it holds is public. It has at most{" "}
        {mebibytes(trajectoryLimits.fileBytes)}, {formatNumber(trajectoryLimits.steps)} steps of{" "}
        {mebibytes(trajectoryLimits.stepBytes)}, and {mebibytes(trajectoryLimits.rootBytes)} beside them; images are
        named and not shown.
      </p>
      <p>
        The run’s figures come from it: steps (steps whose source is the agent, without copied context and those that
        called no model), minutes from the first timestamp to the last, input without cache, cache reads, output, and
        the cost that the agent states. A total in <code>final_metrics</code> counts before what the steps add up to;
        where the two differ, the page says so. An attempt has one trajectory: another one for the same patch is
        refused.
      </p>
      <p>
        A maintainer who submits a folder of patches (<code>npm run admin -- submission create --patches DIR</code>)
        puts <code>{"<task>.trajectory.json"}</code> beside <code>{"<task>.diff"}</code>.
      </p>

      <h2 id="attach">Attach a host to a site</h2>
      <pre className="commands">{`npm run admin -- token mint                              # on the site’s machine
npm run runner -- attach --server https://<this site> --token TOKEN   # on the host`}</pre>
      <p>
        The host claims one job at a time under a lease, grades it, and uploads the evidence. A lost connection loses
        nothing: renewing, the log and the upload go on where they were. A host that a maintainer trusts (
        <code>admin host trust</code>) reaches “verified”; another grades its own organization’s jobs only.
      </p>

      <h2 id="decides">What decides</h2>
      <p>
        A fresh checkout without history, the patch applied strictly, protected paths restored by digest, no network,
        one process per rank. Each rank writes an event stream; the streams against the manifest decide, never an exit
        code or printed text. A hang is ended at its limit, and the other tests are launched again.
      </p>
    </div>
  );
}
