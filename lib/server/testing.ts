import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostRow, listHosts } from "@/db/queries/hosts";
import { findLease, type LeaseRow } from "@/db/queries/queue";
import { createTestDatabase, type TestDatabase } from "@/db/testing";
import { InfraDevError } from "@/lib/contract/errors";
import type { FinishRequest, JobSpec } from "@/lib/contract/job";
import { claimRequestSchema } from "@/lib/contract/job";
import type { Manifest, PackedSuite } from "@/lib/contract/task";
import { type UploadFinishResponse, uploadAnnouncementText } from "@/lib/contract/upload";
import { fromBase64, toBase64, utf8 } from "@/lib/evidence/bytes";
import { verifyEnvelope } from "@/lib/evidence/dsse";
import { generateKeyPair, type Signer } from "@/lib/evidence/keys";
import { publicKeyPem } from "@/lib/evidence/node/key-file";
import {
  makeTestBundle,
  makeTestManifest,
  type TestBundle,
  type TestBundleOptions,
  testCandidate,
  testHost,
  testPatch,
} from "@/lib/evidence/testing";
import { addVendorKey, mintToken } from "./admin/hosts";
import { createReferenceSubmissions } from "./admin/submissions";
import { importPackedSuite } from "./admin/suites";
import { createServerContext, type ServerContext } from "./context";
import { announceSelfMade, appendSelfMade, finishSelfMade } from "./ingest/self-made";
import { announceBundle, appendBundle } from "./runners/bundle-upload";
import { claim } from "./runners/claim";
import { finish } from "./runners/finish";
import { registerHost } from "./runners/register";
import { renew } from "./runners/renew";

/** A server of a test's own: database, folders, one synthetic suite. Everything in it is synthetic. */
export type TestServer = ServerContext & {
  testDatabase: TestDatabase;
  /** Tags that were expired in this process, in order. */
  expired: string[];
  manifests: Manifest[];
  close(): Promise<void>;
};

export type TestHost = { row: HostRow; signer: Signer };

const promptText = "synthetic prompt";

/** The suite's tasks, `synthetic-task-1` and so on. */
function makeTestManifests(count: number, gpus: readonly number[]): Manifest[] {
  return Array.from({ length: count }, (_, index) => {
    const base = makeTestManifest();
    return {
      ...base,
      task: {
        ...base.task,
        slug: `synthetic-task-${index + 1}`,
        title: `Synthetic task ${index + 1}`,
        gpusGrade: gpus[index] ?? base.task.gpusGrade,
      },
      // The first test needs all of the task's GPUs.
      tests: base.tests.map((test, at) =>
        at === 0 ? { ...test, needs: { ...test.needs, gpus: gpus[index] ?? test.needs.gpus } } : test,
      ),
      digests: {
        prompts: { interface: createHash("sha256").update(promptText).digest("hex") },
        grading: createHash("sha256").update(`grading ${index}`).digest("hex"),
      },
    };
  });
}

/** `gpus`: how many the standard launch of each task has, none by default. */
export async function startTestServer(
  serverUrl: string,
  options: { tasks?: number; gpus?: readonly number[] } = {},
): Promise<TestServer> {
  const testDatabase = await createTestDatabase(serverUrl);
  const dataDir = await mkdtemp(join(tmpdir(), "infradev-server-"));
  const expired: string[] = [];
  const context = await createServerContext({
    database: testDatabase,
    dataDir,
    serverName: "synthetic.test",
    expireTags: (tags) => expired.push(...tags),
  });
  const manifests = makeTestManifests(options.tasks ?? 1, options.gpus ?? []);
  const pack: PackedSuite = {
    format: "infradev-suite/1",
    suite: {
      slug: "synthetic-suite",
      version: "1.0",
      title: "Synthetic suite",
      summary: "made up",
      probes: "open",
      tasks: manifests.map((manifest) => manifest.task.slug),
    },
    tasks: manifests.map((manifest) => ({
      manifest,
      prompts: [{ condition: "interface", default: true, text: promptText }],
      interfaces: [],
    })),
    referenceSets: [
      {
        name: "gold",
        kind: "reference",
        patches: manifests.map((manifest) => ({ task: manifest.task.slug, label: "gold", patch: testPatch })),
      },
    ],
  };
  const packFile = join(dataDir, "pack.json");
  await writeFile(packFile, JSON.stringify(pack));
  await importPackedSuite(context, packFile);
  return {
    ...context,
    testDatabase,
    expired,
    manifests,
    close: async () => {
      await testDatabase.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Registers a host as a runner does. Each one has its own operator unless one is named. */
export async function addTestHost(
  server: TestServer,
  options: { trusted?: boolean; organization?: string; gpus?: number } = {},
): Promise<TestHost> {
  const { signer } = await generateKeyPair();
  const slug = options.organization ?? `operator-${signer.keyid.slice(0, 8)}`;
  const { token } = await mintToken(server, {
    name: null,
    trusted: options.trusted ?? true,
    organization: { slug },
  });
  const registered = await registerHost(server, {
    token,
    name: "synthetic host",
    spki: toBase64(signer.spki),
    proof: toBase64(await signer.sign(utf8(token))),
    runnerVersion: "0.0.0-synthetic",
    host: {
      ...testHost,
      gpus: Array.from({ length: options.gpus ?? 0 }, (_, index) => ({
        uuid: `GPU-synthetic-${index}`,
        model: "Synthetic",
        memoryMb: 1024,
        driver: "1.0",
      })),
    },
  });
  const row = (await listHosts(server.database.sql)).find((host) => host.id === registered.hostId);
  if (!row) throw new Error("the host was not registered");
  return { row, signer };
}

/** Submits the suite's gold set: one attempt a task, each with a queued job. */
export async function submitGold(server: TestServer): Promise<string> {
  const [submission] = await createReferenceSubmissions(server, {
    suite: "synthetic-suite",
    sets: ["gold"],
    ifAbsent: false,
  });
  if (!submission) throw new Error("nothing was submitted");
  return submission.id;
}

/** Claims a job without waiting and opens its signed spec; null where there is none. */
export async function claimJobFor(server: TestServer, host: TestHost, freeGpus = 0): Promise<JobSpec | null> {
  const request = claimRequestSchema.parse({
    waitSeconds: 0,
    runnerVersion: "0.0.0-synthetic",
    freeGpuUuids: Array.from({ length: freeGpus }, (_, index) => `GPU-synthetic-${index}`),
    cpuRanks: 8,
    sandboxed: true,
    gradingDigests: server.manifests.map((manifest) => manifest.digests.grading),
  });
  const claimed = await claim(server, host.row, request);
  if (!claimed) return null;
  const verdict = await verifyEnvelope(claimed.job, [
    { keyid: server.signer.keyid, spki: toBase64(server.signer.spki) },
  ]);
  if (!verdict.ok) throw new Error(verdict.problem.message);
  return JSON.parse(new TextDecoder().decode(fromBase64(claimed.job.payload))) as JobSpec;
}

export async function startJob(server: TestServer, host: TestHost): Promise<{ job: JobSpec; lease: LeaseRow }> {
  const job = await claimJobFor(server, host);
  if (!job) throw new Error("there is no job to claim");
  await renew(server, await leaseOf(server, job), { state: "running", progress: null });
  return { job, lease: await leaseOf(server, job) };
}

export async function leaseOf(server: TestServer, job: JobSpec): Promise<LeaseRow> {
  const lease = await findLease(server.database.sql, job.lease.id);
  if (!lease) throw new Error(`there is no lease ${job.lease.id}`);
  return lease;
}

/** The bundle that a runner would make for a job. */
export async function makeBundleFor(
  server: TestServer,
  host: Pick<TestHost, "signer">,
  job: JobSpec,
  overrides: TestBundleOptions = {},
): Promise<TestBundle> {
  const manifest = server.manifests.find((one) => one.task.slug === job.task.slug);
  if (!manifest) throw new Error(`there is no task ${job.task.slug}`);
  return makeTestBundle(join(server.dataDir, `${job.lease.id}.${Math.random().toString(36).slice(2)}.tar.gz`), {
    manifest,
    gradingId: job.gradingId,
    attemptId: job.attemptId,
    lease: { id: job.lease.id, nonce: job.lease.nonce },
    candidate: job.candidate,
    signer: host.signer,
    ...overrides,
  });
}

/** Sends a file as a runner does, in one piece. */
export async function uploadFile(server: TestServer, id: string, path: string): Promise<string> {
  const bytes = await readFile(path);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { complete, offset } = await announceBundle(server, id, { sha256, bytes: bytes.byteLength });
  if (!complete) await appendBundle(server, id, offset, piecesOf(bytes.subarray(offset)));
  return sha256;
}

async function* piecesOf(bytes: Uint8Array, pieceBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}

export async function signedFinish(
  host: Pick<TestHost, "signer">,
  leaseId: string,
  status: FinishRequest["status"],
  bundleSha256: string | null,
): Promise<FinishRequest> {
  const text = `${leaseId} ${status} ${bundleSha256 ?? "-"}`;
  return { status, bundleSha256, reason: null, signature: toBase64(await host.signer.sign(utf8(text))) };
}

/** Uploads a bundle for a job and finishes its lease with it. */
export async function deliver(
  server: TestServer,
  host: TestHost,
  job: JobSpec,
  path: string,
  status: FinishRequest["status"] = "completed",
) {
  const sha256 = await uploadFile(server, job.lease.id, path);
  return finish(server, host.row, await leaseOf(server, job), await signedFinish(host, job.lease.id, status, sha256));
}

/** Claims, grades and delivers one job. */
export async function gradeOne(server: TestServer, host: TestHost, overrides: TestBundleOptions = {}) {
  const { job } = await startJob(server, host);
  const bundle = await makeBundleFor(server, host, job, overrides);
  return { job, bundle, answer: await deliver(server, host, job, bundle.path, overrides.status ?? "completed") };
}

/** Registers the key of an organization that sends bundles of its own. */
export async function addTestVendor(server: TestServer): Promise<Signer> {
  const { signer } = await generateKeyPair();
  const file = join(server.dataDir, "vendor.pem");
  await writeFile(file, publicKeyPem(signer.spki));
  const organization = { slug: "vendor", name: "Vendor" };
  await addVendorKey(server, { file, owner: "Vendor", organization, validUntil: null });
  return signer;
}

/** Makes, announces, sends and finishes a vendor's bundle. */
export async function sendSelfMade(
  server: TestServer,
  signer: Signer,
  overrides: TestBundleOptions = {},
): Promise<UploadFinishResponse> {
  const [manifest] = server.manifests;
  if (!manifest) throw new Error("the suite has no task");
  const bundle = await makeTestBundle(join(server.dataDir, `${randomUUID()}.tar.gz`), {
    manifest,
    signer,
    gradingId: randomUUID(),
    attemptId: null,
    lease: null,
    candidate: { ...testCandidate, promptDigest: manifest.digests.prompts.interface ?? null },
    ...overrides,
  });
  const bytes = await readFile(bundle.path);
  const facts = { sha256: createHash("sha256").update(bytes).digest("hex"), bytes: bytes.byteLength };
  const signature = toBase64(await signer.sign(utf8(uploadAnnouncementText(facts))));
  const { id } = await announceSelfMade(server, { ...facts, keyid: signer.keyid, signature });
  await appendSelfMade(server, id, 0, piecesOf(bytes));
  return finishSelfMade(server, id);
}

/** The code of the problem that a piece of work is refused with; throws where it is not refused, or fails otherwise. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof InfraDevError)) throw error ?? new Error("nothing was refused");
  return error.code;
}
