import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import type { HostFacts } from "@/lib/contract/result";
import { publicKeyPem } from "@/lib/evidence/node/key-file";
import { loadSigningKey } from "../signing-key";
import { sha256Hex } from "../suites/files";
import type { LoadedTask } from "../suites/load";
import { ensureRegistered, serveJobs } from "./attach";
import type { GradeJob, JobContext, JobEnd } from "./job";
import { ServerApi } from "./server-api";
import { RunnerData } from "./state";
import { FakeServer, type Fault } from "./testing";

const digest = "a".repeat(64);
const token = "token-of-twenty-characters";
const host: HostFacts = {
  os: "test",
  kernel: "1",
  arch: "x64",
  cpuModel: "test",
  cpuCount: 2,
  memoryMb: 1024,
  gpus: [],
  topology: null,
  cuda: null,
  nccl: null,
  python: "3.11.0",
  pytest: "9.0.0",
  torch: null,
  node: "20.0.0",
};
const tasks = new Map([[digest, { metadata: { slug: "tiny" } } as unknown as LoadedTask]]);
const job = { slug: "tiny", gradingDigest: digest, suite: { slug: "mini", version: "1.0" }, patch: "diff --git\n" };

const bundleBytes = Buffer.alloc(300_000, "evidence of one grading ");

/** Writes a bundle of fixed bytes, after what the test wants to happen meanwhile. */
const gradeAfter =
  (meanwhile: (signal: AbortSignal) => Promise<void> = async () => undefined): GradeJob =>
  async ({ out, signal, onProgress, workDir }) => {
    expect(await readdir(workDir)).toEqual([]);
    onProgress("official-2: 1 of 2");
    await meanwhile(signal);
    await writeFile(out, bundleBytes);
    return {
      status: "completed",
      reason: null,
      summary: "1 of 1 passed",
      bundle: { path: out, sha256: sha256Hex(bundleBytes), bytes: bundleBytes.length },
    };
  };

const until = async (condition: () => boolean): Promise<void> => {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 500) throw new Error("what the test waits for did not happen");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

describe("a runner against a server", () => {
  let server: FakeServer;
  let dir: string;
  let data: RunnerData;
  let close: () => Promise<void>;

  beforeEach(async () => {
    server = await FakeServer.start();
    dir = await mkdtemp(join(tmpdir(), "infradev-attach-"));
    data = new RunnerData(join(dir, "data"));
    close = await data.open();
  });
  afterEach(async () => {
    await close();
    await server.stop();
    await rm(dir, { recursive: true });
  });

  const contextOf = async (grade: GradeJob, changes: Partial<JobContext> = {}): Promise<JobContext> => {
    const { registration, signer } = await ensureRegistered(data, { server: server.url, token, name: "host", host });
    return {
      api: new ServerApi(server.url, registration.credential),
      data,
      registration,
      signer,
      tasks,
      grade,
      stop: new AbortController().signal,
      say: () => undefined,
      leaseTiming: { renewSeconds: 0.05, retrySeconds: 0.05, firstWithinSeconds: 0.2 },
      backoff: { firstMs: 5, maxMs: 20, factor: 2 },
      deliverForMs: 5000,
      ...changes,
    };
  };
  const drain = (context: JobContext): Promise<JobEnd[]> =>
    serveJobs(context, {
      mode: "drain",
      parallel: 1,
      capacity: async () => ({ freeGpuUuids: [], cpuRanks: 4, sandboxed: true, gradingDigests: [digest] }),
    });

  it("registers once, keeps key and registration private, and needs no token afterwards", async () => {
    await contextOf(gradeAfter());
    expect((await stat(data.keyPath)).mode & 0o777).toBe(0o600);
    expect((await stat(join(data.dir, "runner.json"))).mode & 0o777).toBe(0o600);
    const again = await ensureRegistered(data, { server: server.url, token: null, name: "host", host });
    expect(again.signer.keyid).toBe(again.registration.keyid);
    expect(server.requests.filter((name) => name === "POST register")).toHaveLength(1);
  });

  it("says that a token is needed, and that it is spent", async () => {
    const request = { server: server.url, token: null, name: "host", host };
    await expect(ensureRegistered(data, request)).rejects.toMatchObject({ code: "attach.token-missing" });
    server.tokens.clear();
    await expect(ensureRegistered(data, { ...request, token })).rejects.toMatchObject({ code: "runner.token-unknown" });
  });

  it("puts a key that the server knows already aside, with its public half, and makes another one", async () => {
    const old = await loadSigningKey(data.keyPath);
    const taken = new InfraDevError("conflict", { code: "runner.key-taken", message: "registered already" });
    vi.spyOn(ServerApi.prototype, "register").mockRejectedValueOnce(taken);
    const { signer, registration } = await ensureRegistered(data, { server: server.url, token, name: "host", host });
    vi.restoreAllMocks();
    expect(signer.keyid).not.toBe(old.keyid);
    expect(registration.keyid).toBe(signer.keyid);
    const aside = `${data.keyPath}.${old.keyid.slice(0, 12)}`;
    expect((await loadSigningKey(aside)).keyid).toBe(old.keyid);
    expect(await readFile(`${aside}.pub.pem`, "utf8")).toBe(publicKeyPem(old.spki));
    expect((await loadSigningKey(data.keyPath)).keyid).toBe(signer.keyid);
  });

  it("refuses a data folder that another process uses, and takes one over that a dead process left", async () => {
    const other = new RunnerData(data.dir);
    await writeFile(join(data.dir, "runner.pid"), "1");
    await expect(other.open()).rejects.toMatchObject({ code: "attach.in-use" });
    await writeFile(join(data.dir, "runner.pid"), "999999999");
    await (await other.open())();
  });

  it("takes a job from claim to finish, renewing and logging beside it", async () => {
    server.queue.push(job);
    const context = await contextOf(gradeAfter(() => until(() => (server.leases[0]?.states.length ?? 0) >= 3)));
    const ends = await drain(context);
    expect(ends).toMatchObject([{ task: "tiny", status: "completed", verdict: "accepted" }]);
    const lease = server.leases[0];
    expect(lease?.states[0]).toBe("preparing");
    expect(lease?.states).toContain("running");
    expect(lease?.log.toString()).toContain("official-2: 1 of 2");
    expect(lease?.upload?.received.equals(bundleBytes)).toBe(true);
    expect(await readdir(join(data.dir, "jobs"))).toEqual([]);
  });

  it("starts nothing before the first renewal", async () => {
    server.queue.push(job);
    server.fault = (name) => (name === "POST lease/renew" ? "reset" : null);
    const ends = await drain(await contextOf(() => Promise.reject(new Error("graded without a lease"))));
    expect(ends).toMatchObject([{ verdict: "abandoned" }]);
    expect(server.leases[0]?.finishes).toEqual([]);
  });

  it("gets through an overloaded server and broken connections", async () => {
    server.queue.push(job);
    const context = await contextOf(gradeAfter());
    const counts = new Map<string, number>();
    server.fault = (name) => {
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (name === "POST lease/renew") return null;
      // A claim whose answer is lost is a lease that nobody holds; the server queues its job again when it expires.
      const faults = name === "POST claim" ? ["unavailable", "reset"] : ["unavailable", "reset", "answer-lost"];
      return (faults[count - 1] ?? null) as Fault;
    };
    expect(await drain(context)).toMatchObject([{ verdict: "accepted" }]);
    expect(server.leases[0]?.finishes.length).toBeGreaterThan(1);
  });

  it("goes on with an upload where the connection broke", async () => {
    server.queue.push(job);
    let broken = 0;
    server.fault = (name) => {
      if (name !== "PATCH lease/bundle" || broken >= 2) return null;
      broken += 1;
      return "reset-midway";
    };
    expect(await drain(await contextOf(gradeAfter()))).toMatchObject([{ verdict: "accepted" }]);
    expect(broken).toBe(2);
    expect(server.leases[0]?.upload?.received.equals(bundleBytes)).toBe(true);
  });

  it("gives the same finish again when its answer is lost", async () => {
    server.queue.push(job);
    let lost = false;
    server.fault = (name) => {
      if (name !== "POST lease/finish" || lost) return null;
      lost = true;
      return "answer-lost";
    };
    expect(await drain(await contextOf(gradeAfter()))).toMatchObject([{ verdict: "accepted" }]);
    const [first, second] = server.leases[0]?.finishes ?? [];
    expect(second).toEqual(first);
  });

  it("stops a job that the server cancels, and says so", async () => {
    server.queue.push(job);
    const grade = gradeAfter(async (signal) => {
      const lease = server.leases[0];
      if (lease) lease.cancel = true;
      await until(() => signal.aborted);
      throw signal.reason;
    });
    expect(await drain(await contextOf(grade))).toMatchObject([{ status: "canceled", verdict: "recorded" }]);
  });

  it("delivers late evidence when its lease is lost meanwhile", async () => {
    server.queue.push(job);
    const grade = gradeAfter(async () => {
      const lease = server.leases[0];
      if (lease) lease.state = "lost";
      const renewals = () => server.requests.filter((name) => name === "POST lease/renew").length;
      const before = renewals();
      await until(() => renewals() > before);
    });
    expect(await drain(await contextOf(grade))).toMatchObject([{ status: "completed", verdict: "late" }]);
  });

  it("reports a fault of the host as infra, with its reason", async () => {
    server.queue.push(job);
    const ends = await drain(await contextOf(() => Promise.reject(new Error("no space left"))));
    expect(ends).toMatchObject([{ status: "infra", verdict: "requeued" }]);
    expect(server.leases[0]?.finishes[0]?.reason).toContain("no space left");
  });

  it("gives its job back when it is told to end", async () => {
    server.queue.push(job);
    const stop = new AbortController();
    const grade = gradeAfter(async (signal) => {
      stop.abort(new Error("SIGTERM"));
      await until(() => signal.aborted);
      throw signal.reason;
    });
    const ends = await drain(await contextOf(grade, { stop: stop.signal }));
    // No fault of this host: the server counts no retry for it.
    expect(ends).toMatchObject([{ status: "canceled", verdict: "requeued" }]);
  });

  it("refuses a job that its server did not sign", async () => {
    server.queue.push(job);
    server.tamper = (envelope) => {
      const spec = Buffer.from(envelope.payload, "base64").toString().replace('"gpus":0', '"gpus":1');
      envelope.payload = Buffer.from(spec).toString("base64");
    };
    const stop = new AbortController();
    const said: string[] = [];
    const context = await contextOf(() => Promise.reject(new Error("graded a forged job")), {
      stop: stop.signal,
      say: (text) => {
        said.push(text);
        stop.abort();
      },
    });
    expect(await drain(context)).toEqual([]);
    expect(said[0]).toContain("job.signature-invalid");
    expect(server.leases[0]?.states).toEqual([]);
  });

  it("keeps a bundle that the server refuses, beside the reason", async () => {
    server.queue.push(job);
    const grade: GradeJob = async (request) => ({ ...(await gradeAfter()(request)), status: "completed" });
    const context = await contextOf(async (request) => {
      const graded = await grade(request);
      return { ...graded, bundle: { ...graded.bundle, sha256: "b".repeat(64) } };
    });
    expect(await drain(context)).toMatchObject([{ verdict: "refused" }]);
    const kept = await readdir(join(data.dir, "refused"));
    expect(kept).toHaveLength(2);
    const note = kept.find((name) => name.endsWith(".refusal.txt")) ?? "";
    expect(await readFile(join(data.dir, "refused", note), "utf8")).toContain("bundle.digest-mismatch");
  });

  it("delivers after a restart what was ready, grades anew what was under way, gives back what ended it thrice", async () => {
    server.queue.push(job, job, job);
    server.fault = (name) => (name.startsWith("PATCH") || name === "POST lease/bundle" ? "unavailable" : null);
    const context = await contextOf(gradeAfter(), { deliverForMs: 30 });
    const ends = await serveJobs(context, {
      mode: "once",
      parallel: 1,
      capacity: async () => ({ freeGpuUuids: [], cpuRanks: 4, sandboxed: true, gradingDigests: [digest] }),
    });
    expect(ends).toMatchObject([{ verdict: "undelivered" }]);
    const [ready] = await data.listJobs();
    if (ready === undefined) throw new Error("the job is kept");

    const api = new ServerApi(server.url, context.registration.credential);
    for (const starts of [1, 3]) {
      const claimed = await api.claim({
        waitSeconds: 0,
        runnerVersion: "0",
        freeGpuUuids: [],
        cpuRanks: 4,
        sandboxed: true,
        gradingDigests: [digest],
      });
      if (claimed === null) throw new Error("a job is offered");
      const spec = JSON.parse(Buffer.from(claimed.payload, "base64").toString());
      const folder = await data.recordJob({
        ...ready,
        spec,
        envelope: claimed,
        stage: "running",
        starts,
        outcome: null,
      });
      await writeFile(join(folder.workDir, "half-made"), "");
    }
    await mkdir(join(data.dir, "jobs", "half-made"), { recursive: true });

    server.fault = () => null;
    const recovered = await drain(await contextOf(gradeAfter()));
    expect(recovered.filter((end) => end.verdict === "accepted")).toHaveLength(2);
    expect(recovered.filter((end) => end.verdict === "requeued")).toHaveLength(1);
    expect(await readdir(join(data.dir, "jobs"))).toEqual([]);
  });
});
