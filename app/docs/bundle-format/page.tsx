import type { Metadata } from "next";
import { DocumentHead } from "@/components/docs/document-head";
import { FileTable } from "@/components/docs/file-table";
import { bundleLimits } from "@/lib/contract/bundle";
import { formatNumber } from "@/lib/format/numbers";
import { findDocument } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

const { title, summary } = findDocument("/docs/bundle-format");

export const metadata: Metadata = { title, description: summary };

const files = [
  ["payload/result.json", "the facts: outcomes of each test on each rank, times, resources"],
  ["payload/manifest.json", "the task’s manifest as graded, so that completeness can be checked offline"],
  [
    "payload/run.lock.json",
    "what a replay needs: digests of task, patch and environment, runner, arguments, seeds, limits",
  ],
  ["payload/patch.diff", "the candidate’s patch as graded"],
  ["payload/host.json", "GPUs, driver, kernel, CPU, versions; no name of a host, user or path"],
  ["payload/tests.ctrf.json", "merged outcomes in CTRF"],
  ["payload/events/, junit/, ranks/", "per launch and rank: event stream, JUnit, standard output and error"],
  ["payload/resources/", "samples of memory, utilization, traffic"],
  ["payload/guard.json", "canaries, fingerprints and scans of the tamper guard"],
  [
    "payload/agent/trajectory.json",
    "optional, in self-made bundles: what the agent did, in the Agent Trajectory Interchange Format (ATIF)",
  ],
  ["sealed.tar.gz", "where probes are hidden: what would reveal them; kept by the server"],
  ["SHA256SUMS", "digests of every file of payload/ and of sealed.tar.gz, sorted by path"],
  ["bundle.intoto.jsonl", "two signed statements, one envelope a line"],
] as const;

const mebibytes = (bytes: number) => `${formatNumber(bytes / 1024 ** 2)} MiB`;

export default function Page() {
  return (
    <div className="prose">
      <DocumentHead title={title} lead={summary} />
      <p>
        A bundle is <code>{"<grading id>.infradev.tar.gz"}</code>, one for each grading. The container is canonical:
        entries are sorted and every header is fixed, so one digest names the bundle. Bytes are signed as they are; no
        JSON is ever rewritten for signing.
      </p>
      <FileTable caption="Files of a bundle" files={files} />

      <h2 id="statements">Statements</h2>
      <p>
        Each line of <code>bundle.intoto.jsonl</code> is a DSSE envelope of type{" "}
        <code>application/vnd.in-toto+json</code>, signed with Ed25519 over{" "}
        <code>DSSEv1 {"<length> <type> <length> <body>"}</code>. The first is in-toto’s test result, the second ours:
        grading, lease and nonce, task and its digests, candidate, environment, outcome, times, runner. Both have two
        subjects: <code>SHA256SUMS</code>, which names every file, and <code>payload/patch.diff</code>.
      </p>
      <p>
        A key’s id is the sha256 of its public key in SPKI DER. It only selects among the{" "}
        <a href="/.well-known/infradev-keys.json">public keys</a>; retired keys stay listed with their windows.
      </p>

      <h2 id="receipt">Receipt and log</h2>
      <p>
        What the server accepts gets a receipt of its own, signed by the server, so that the bundle’s digest never
        changes. Each acceptance, regrade, invalidation and withdrawal is a record of an append-only Merkle log (RFC
        6962 hashes, C2SP tiles), with a <a href="/log/checkpoint">signed checkpoint</a>.
      </p>

      <h2 id="limits">Limits</h2>
      <dl className="facts">
        <dt>Packed</dt>
        <dd>{mebibytes(bundleLimits.packedBytes)}</dd>
        <dt>Unpacked</dt>
        <dd>{mebibytes(bundleLimits.unpackedBytes)}</dd>
        <dt>Entries</dt>
        <dd>{formatNumber(bundleLimits.entries)}</dd>
        <dt>Entries may be</dt>
        <dd>regular files under relative paths; no links, devices, double names</dd>
      </dl>

      <h2 id="hidden">Hidden probes</h2>
      <p>
        Where a suite’s probes are hidden, bundles are not given out: their sealed part travels inside. The pages show a
        probe’s id, property and verdict. The suite’s probe set is named by digest in every bundle, so that it can be
        compared once it opens.
      </p>
      <p>
        <a href="/docs/verify">Verify</a> shows how to check a bundle, by hand too.
      </p>
    </div>
  );
}
