import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { problemResponseSchema } from "@/lib/contract/errors";
import { evidenceResponseSchema } from "@/lib/contract/evidence-api";
import type { JobSpec } from "@/lib/contract/job";
import { uploadAnnouncementText, uploadFinishResponseSchema } from "@/lib/contract/upload";
import { toBase64, utf8 } from "@/lib/evidence/bytes";
import { generateKeyPair } from "@/lib/evidence/keys";
import { openCheckpoint } from "@/lib/evidence/merkle";
import { publicKeyPem } from "@/lib/evidence/node/key-file";
import { makeTestBundle, testCandidate } from "@/lib/evidence/testing";
import { addVendorKey, mintToken } from "@/lib/server/admin/hosts";
import { publish } from "@/lib/server/admin/submissions";
import type { ServerContext } from "@/lib/server/context";
import { readLog } from "@/lib/server/runners/live-logs";
import { registerHost } from "@/lib/server/runners/register";
import { gradeOne, startJob, startTestServer, submitGold, type TestHost, type TestServer } from "@/lib/server/testing";
import { GET as getKeys } from "../.well-known/infradev-keys.json/route";
import { GET as getCheckpoint } from "../log/checkpoint/route";
import { GET as getTile } from "../log/tile/[...path]/route";
import { POST as postClaim } from "./runner/v1/claim/route";
import { PATCH as patchBundle, POST as postBundle } from "./runner/v1/leases/[id]/bundle/route";
import { POST as postFinish } from "./runner/v1/leases/[id]/finish/route";
import { POST as postLogs } from "./runner/v1/leases/[id]/logs/route";
import { GET as getPatch } from "./runner/v1/leases/[id]/patch/route";
import { POST as postRenew } from "./runner/v1/leases/[id]/renew/route";
import { POST as postRegister } from "./runner/v1/register/route";
import { GET as getBundle } from "./v1/gradings/[id]/bundle/route";
import { GET as getEvidence } from "./v1/gradings/[id]/evidence/route";
import { GET as getFile } from "./v1/gradings/[id]/files/[...path]/route";
import { POST as postUploadFinish } from "./v1/uploads/[id]/finish/route";
import { PATCH as patchUpload } from "./v1/uploads/[id]/route";
import { POST as postUpload } from "./v1/uploads/route";

// Outside of Next there is no request to wait for.
vi.mock("next/server", () => ({ connection: async () => {}, after: () => {} }));

let server: TestServer;
let host: TestHost;
let credential: string;
let running: JobSpec;
let gradingId: string;

beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"), { tasks: 2 });
  (globalThis as { infradevContext?: Promise<ServerContext> }).infradevContext = Promise.resolve(server);
  const { signer } = await generateKeyPair();
  const organization = { slug: "operator", name: "Operator" };
  const { token } = await mintToken(server, { name: null, trusted: true, organization });
  const registered = await registerHost(server, {
    token,
    name: "synthetic host",
    spki: toBase64(signer.spki),
    proof: toBase64(await signer.sign(utf8(token))),
    runnerVersion: "0.0.0-synthetic",
    host: {
      os: "linux",
      kernel: "6.1.0",
      arch: "x64",
      cpuModel: "Synthetic CPU",
      cpuCount: 2,
      memoryMb: 8192,
      gpus: [],
      topology: null,
      cuda: null,
      nccl: null,
      python: "3.12.0",
      pytest: "8.0.0",
      torch: null,
      node: "20.19.0",
    },
  });
  credential = registered.credential;
  const { findHost } = await import("@/db/queries/hosts");
  const row = await findHost(server.database.sql, registered.hostId);
  if (!row) throw new Error("the host was not registered");
  host = { row, signer };
  await submitGold(server);
  gradingId = (await gradeOne(server, host)).job.gradingId;
  running = (await startJob(server, host)).job;
});
afterAll(async () => {
  delete (globalThis as { infradevContext?: Promise<ServerContext> }).infradevContext;
  await server.close();
});

type Body = BodyInit | null;
const request = (path: string, method: string, body: Body = null, headers: Record<string, string> = {}) =>
  new Request(`http://bench.test${path}`, {
    method,
    body,
    headers: { authorization: `Bearer ${credential}`, ...headers },
  });
const at = (id: string) => ({ params: Promise.resolve({ id }) });

async function refusal(answer: Response): Promise<{ status: number; code: string }> {
  const { error } = problemResponseSchema.parse(await answer.json());
  return { status: answer.status, code: error.code };
}

describe("every route", () => {
  const routes: [string, (body: Body, id: string) => Promise<Response>][] = [
    ["register", (body) => postRegister(request("/api/runner/v1/register", "POST", body))],
    ["claim", (body) => postClaim(request("/api/runner/v1/claim", "POST", body))],
    ["renew", (body, id) => postRenew(request("/api/runner/v1/leases/x/renew", "POST", body), at(id))],
    ["logs", (body, id) => postLogs(request("/api/runner/v1/leases/x/logs?offset=0", "POST", body), at(id))],
    ["bundle", (body, id) => postBundle(request("/api/runner/v1/leases/x/bundle", "POST", body), at(id))],
    [
      "append",
      (body, id) =>
        patchBundle(request("/api/runner/v1/leases/x/bundle", "PATCH", body, { "upload-offset": "3" }), at(id)),
    ],
    ["finish", (body, id) => postFinish(request("/api/runner/v1/leases/x/finish", "POST", body), at(id))],
    ["upload", (body) => postUpload(request("/api/v1/uploads", "POST", body))],
    [
      "append upload",
      (body, id) => patchUpload(request("/api/v1/uploads/x", "PATCH", body, { "upload-offset": "0" }), at(id)),
    ],
    ["finish upload", (_body, id) => postUploadFinish(request("/api/v1/uploads/x/finish", "POST"), at(id))],
    ["evidence", (_body, id) => getEvidence(request("/", "GET"), at(id))],
    ["bundle of a grading", (_body, id) => getBundle(request("/", "GET"), at(id))],
    [
      "file",
      (_body, id) =>
        getFile(request("/", "GET"), { params: Promise.resolve({ id, path: ["payload", "..", "result.json"] }) }),
    ],
    ["tile", (_body, id) => getTile(request("/", "GET"), { params: Promise.resolve({ path: [id, "000"] }) })],
  ];

  it.each(routes)("answers bad input with a problem that says why, never with a failure: %s", async (_name, send) => {
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc
        .record(
          {
            token: fc.string(),
            name: fc.string(),
            spki: fc.base64String(),
            proof: fc.base64String(),
            runnerVersion: fc.string(),
            state: fc.constantFrom("running", "finished", "nonsense"),
            progress: fc.option(fc.string()),
            sha256: fc.constantFrom("0".repeat(64), "zz"),
            bytes: fc.integer(),
            keyid: fc.constant("0".repeat(64)),
            signature: fc.base64String(),
            status: fc.constantFrom("completed", "infra", "nonsense"),
            bundleSha256: fc.option(fc.constant("0".repeat(64))),
            reason: fc.option(fc.string()),
            waitSeconds: fc.constant(0),
            gradingDigests: fc.array(fc.string(), { maxLength: 3 }),
          },
          { requiredKeys: [] },
        )
        .map((record) => JSON.stringify(record)),
    );
    const id = fc.oneof(fc.constant(running.lease.id), fc.uuid(), fc.string(), fc.constant("../../etc/passwd"));
    await fc.assert(
      fc.asyncProperty(body, id, async (sent, target) => {
        const answer = await send(sent as Body, target);
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect((await refusal(answer)).code).toMatch(/^[a-z-]+(\.[a-z-]+)+$/);
      }),
      { numRuns: 40 },
    );
  });

  it("of the runner's protocol asks who is there", async () => {
    const anonymous = new Request("http://bench.test/api/runner/v1/claim", { method: "POST", body: "{}" });
    expect(await refusal(await postClaim(anonymous))).toEqual({ status: 401, code: "runner.unknown" });
    const other = await refusal(
      await postRenew(request("/", "POST", "{}"), at("00000000-0000-4000-8000-000000000000")),
    );
    expect(other).toEqual({ status: 404, code: "lease.unknown" });
  });
});

describe("registration", () => {
  it("spends its token once and proves the key", async () => {
    const { token } = await mintToken(server, {
      name: "lab",
      trusted: false,
      organization: { slug: "lab", name: "Lab" },
    });
    const { signer } = await generateKeyPair();
    const body = (key: { spki: Uint8Array }, proof: Uint8Array) =>
      JSON.stringify({
        token,
        name: "ignored, the token has a name",
        spki: toBase64(key.spki),
        proof: toBase64(proof),
        runnerVersion: "0.0.0-synthetic",
        host: {
          os: "linux",
          kernel: "6",
          arch: "x64",
          cpuModel: "Synthetic CPU",
          cpuCount: 1,
          memoryMb: 1,
          gpus: [],
          topology: null,
          cuda: null,
          nccl: null,
          python: "3.12",
          pytest: "8",
          torch: null,
          node: "20",
        },
      });
    const send = (sent: string) => postRegister(request("/api/runner/v1/register", "POST", sent));
    const wrong = await send(body(signer, await signer.sign(utf8("another text"))));
    expect(await refusal(wrong)).toEqual({ status: 403, code: "runner.proof" });
    const sound = body(signer, await signer.sign(utf8(token)));
    expect((await send(sound)).status).toBe(201);
    expect(await refusal(await send(sound))).toEqual({ status: 401, code: "runner.token-used" });
    await server.database.sql`update registration_token set used_at = null, expires_at = now() - interval '1 second'`;
    expect(await refusal(await send(sound))).toEqual({ status: 401, code: "runner.token-expired" });
    await server.database.sql`update registration_token set expires_at = now() + interval '1 hour'`;
    expect(await refusal(await send(sound))).toEqual({ status: 409, code: "runner.key-taken" });
  });
});

describe("logs", () => {
  it("are idempotent by offset, refuse a gap, and never unpack without bound", async () => {
    const lease = running.lease.id;
    const send = async (offset: number, bytes: Uint8Array) => {
      const answer = await postLogs(request(`/x?offset=${offset}`, "POST", new Uint8Array(bytes)), at(lease));
      return answer.ok ? ((await answer.json()) as { offset: number }).offset : (await refusal(answer)).code;
    };
    expect(await send(0, gzipSync("first line\n"))).toBe(11);
    expect(await send(0, gzipSync("first line\n"))).toBe(11);
    expect(await send(6, gzipSync("line\nsecond\n"))).toBe(18);
    expect(await send(40, gzipSync("later\n"))).toBe("logs.gap");
    const long = `${"x".repeat(4 * 1024 * 1024)}\n`;
    const end = 18 + long.length;
    const sent = Array.from({ length: 8 }, () => send(18, gzipSync(long)));
    expect(await Promise.all(sent)).toEqual(sent.map(() => end));
    expect((await readLog(server, lease, 0, 2 * end)).text.length).toBe(end);
    expect(await send(18, Buffer.from("not gzip"))).toBe("logs.not-gzip");
    expect(await send(18, gzipSync(Buffer.alloc(64 * 1024 * 1024)))).toBe("logs.not-gzip");
  });
});

describe("what is given out", () => {
  it("is the patch for its host, and the evidence for all, by ranges too", async () => {
    const patch = await getPatch(request("/", "GET"), at(running.lease.id));
    expect(await patch.text()).toContain("diff --git");
    const evidence = evidenceResponseSchema.parse(await (await getEvidence(request("/", "GET"), at(gradingId))).json());
    expect(evidence.files["payload/result.json"]).toBe(`/api/v1/gradings/${gradingId}/files/payload/result.json`);
    expect(evidence.log).not.toBeNull();
    const whole = await getBundle(request("/", "GET"), at(gradingId));
    expect((await whole.arrayBuffer()).byteLength).toBe(evidence.bundle.bytes);
    expect(whole.headers.get("content-disposition")).toBe(`attachment; filename="${gradingId}.infradev.tar.gz"`);
    const params = { params: Promise.resolve({ id: gradingId, path: ["payload", "patch.diff"] }) };
    const part = await getFile(request("/", "GET", null, { range: "bytes=5-10" }), params);
    expect({ status: part.status, text: await part.text() }).toEqual({ status: 206, text: "--git " });
    // Next has decoded the path already: a percent sign in it is one.
    const percent = { params: Promise.resolve({ id: gradingId, path: ["a%zz"] }) };
    expect((await getFile(request("/", "GET"), percent)).status).toBe(404);
    const beyond = await getFile(request("/", "GET", null, { range: "bytes=99999-" }), params);
    expect(beyond.status).toBe(416);
  });

  it("is a log whose checkpoint is signed by a published key", async () => {
    const { keys } = (await (await getKeys()).json()) as { keys: { role: string; spki: string }[] };
    const note = await (await getCheckpoint()).text();
    const opened = await openCheckpoint(
      note,
      "synthetic.test",
      keys
        .filter((key) => key.role === "server")
        .map((key) => ({ spki: new Uint8Array(Buffer.from(key.spki, "base64")) })),
    );
    if ("problem" in opened) throw new Error(opened.problem.message);
    const { size } = opened.checkpoint;
    const tile = await getTile(request("/", "GET"), {
      params: Promise.resolve({ path: ["0", `000.p`, String(size)] }),
    });
    expect((await tile.arrayBuffer()).byteLength).toBe(32 * size);
    const entries = await getTile(request("/", "GET"), {
      params: Promise.resolve({ path: ["entries", "000.p", String(size)] }),
    });
    expect(await entries.text()).toContain(gradingId);
  });
});

describe("a self-made bundle", () => {
  it("of a registered vendor is recorded as signed and unpublished, and does not pass for a lease's", async () => {
    const { signer } = await generateKeyPair();
    const { writeFile } = await import("node:fs/promises");
    const pem = `${server.dataDir}/vendor.pem`;
    await writeFile(pem, publicKeyPem(signer.spki));
    const [manifest] = server.manifests;
    if (!manifest) throw new Error("the suite has no task");
    const bundle = await makeTestBundle(`${server.dataDir}/vendor.tar.gz`, {
      manifest,
      signer,
      attemptId: null,
      lease: null,
      candidate: { ...testCandidate, promptDigest: manifest.digests.prompts.interface ?? null },
    });
    const announce = async () =>
      postUpload(
        request(
          "/api/v1/uploads",
          "POST",
          JSON.stringify({
            sha256: bundle.sha256,
            bytes: bundle.bytes,
            keyid: signer.keyid,
            signature: toBase64(await signer.sign(utf8(uploadAnnouncementText(bundle)))),
          }),
        ),
      );
    expect(await refusal(await announce())).toEqual({ status: 403, code: "upload.unknown-key" });
    await addVendorKey(server, {
      file: pem,
      owner: "Vendor",
      organization: { slug: "vendor", name: "Vendor" },
      validUntil: null,
    });
    const { id, offset } = (await (await announce()).json()) as { id: string; offset: number };
    expect(offset).toBe(0);
    const early = await postUploadFinish(request("/", "POST"), at(id));
    expect(await refusal(early)).toEqual({ status: 409, code: "finish.bundle-not-uploaded" });
    const { readFile } = await import("node:fs/promises");
    const bytes = new Uint8Array(await readFile(bundle.path));
    const appended = await patchUpload(request("/", "PATCH", bytes, { "upload-offset": "0" }), at(id));
    expect(await appended.json()).toEqual({ offset: bundle.bytes, complete: true });
    const finished = await postUploadFinish(request("/", "POST"), at(id));
    const answer = uploadFinishResponseSchema.parse(await finished.json());
    expect(answer).toMatchObject({ verdict: "accepted", tier: "signed", gradingId: bundle.result.gradingId });
    expect(await (await postUploadFinish(request("/", "POST"), at(id))).json()).toEqual(answer);
    const published = async () => {
      const [row] = await server.database.sql`
        select published_at is not null as published from submission where id = ${answer.submissionId}`;
      return row?.["published"];
    };
    expect(await published()).toBe(false);
    await publish(server, answer.submissionId);
    expect(await published()).toBe(true);
    // The same key cannot pass a self-made bundle off as a lease's.
    const stolen = await postBundle(
      request("/", "POST", JSON.stringify({ sha256: bundle.sha256, bytes: bundle.bytes })),
      at(running.lease.id),
    );
    expect(await stolen.json()).toEqual({ offset: bundle.bytes, complete: true });
    const text = `${running.lease.id} completed ${bundle.sha256}`;
    const finish = await postFinish(
      request(
        "/",
        "POST",
        JSON.stringify({
          status: "completed",
          bundleSha256: bundle.sha256,
          reason: null,
          signature: toBase64(await host.signer.sign(utf8(text))),
        }),
      ),
      at(running.lease.id),
    );
    expect(await refusal(finish)).toEqual({ status: 409, code: "ingest.replayed" });
  });
});
