import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import {
  bundleAnnounceSchema,
  claimRequestSchema,
  type FinishRequest,
  finishRequestSchema,
  type JobSpec,
  jobPayloadType,
  registerRequestSchema,
  renewRequestSchema,
} from "@/lib/contract/job";
import { fromBase64, toBase64, utf8 } from "@/lib/evidence/bytes";
import { signEnvelope } from "@/lib/evidence/dsse";
import { generateKeyPair, keyidOf, type Signer, verifySignature } from "@/lib/evidence/keys";
import { sha256Hex } from "../suites/files";

export type FakeJob = { slug: string; gradingDigest: string; suite: { slug: string; version: string }; patch: string };

export type FakeLease = {
  spec: JobSpec;
  state: "active" | "lost" | "finished";
  cancel: boolean;
  states: string[];
  log: Buffer;
  upload: { sha256: string; bytes: number; received: Buffer } | null;
  finishes: FinishRequest[];
  verdict: "accepted" | "late" | "requeued" | "recorded" | null;
};

/** What to do with a request in place of answering it. */
export type Fault = "unavailable" | "reset" | "reset-midway" | "answer-lost" | null;

/**
 * A server that speaks the runner's protocol over real HTTP, in memory: it checks tokens, proofs, credentials, digests
 * and signatures as the real one does, and can be told to fail.
 */
export class FakeServer {
  readonly tokens = new Set(["token-of-twenty-characters"]);
  readonly leases: FakeLease[] = [];
  readonly queue: FakeJob[] = [];
  readonly requests: string[] = [];
  /** Asked before each request is handled. */
  fault: (request: string) => Fault = () => null;
  /** Changes a job before it is signed. */
  tamper: (envelope: { payload: string }) => void = () => undefined;
  private readonly http: Server;
  private readonly signer: Signer;
  private host: { credential: string; spki: Uint8Array } | null = null;

  private constructor(signer: Signer) {
    this.signer = signer;
    this.http = createServer((request, response) => {
      this.handle(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  static async start(): Promise<FakeServer> {
    const server = new FakeServer((await generateKeyPair()).signer);
    await new Promise<void>((resolve) => server.http.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.http.address() as AddressInfo).port}`);
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise<void>((resolve) => this.http.close(() => resolve()));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const name = `${request.method} ${url.pathname.replace(/^\/api\/runner\/v1\//, "").replace(/leases\/[^/]+/, "lease")}`;
    this.requests.push(name);
    const fault = this.fault(name);
    if (fault === "unavailable") return this.answer(response, 503, { error: { code: "server.busy", message: "busy" } });
    if (fault === "reset") return void request.socket.destroy();
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
      if (fault === "reset-midway") break;
    }
    const body = Buffer.concat(chunks);
    const answer = await this.answerTo(
      name,
      url,
      request,
      fault === "reset-midway" ? body.subarray(0, body.length >> 1) : body,
    );
    if (fault === "reset-midway" || fault === "answer-lost") return void request.socket.destroy();
    return this.answer(response, answer.status, answer.body);
  }

  private answer(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, {
      "content-type": Buffer.isBuffer(body) ? "application/octet-stream" : "application/json",
    });
    response.end(status === 204 ? undefined : Buffer.isBuffer(body) ? body : JSON.stringify(body));
  }

  private refusal(status: number, code: string): { status: number; body: unknown } {
    return { status, body: { error: { code, message: code } } };
  }

  private async answerTo(name: string, url: URL, request: IncomingMessage, body: Buffer) {
    if (name === "POST register") return await this.register(JSON.parse(body.toString()));
    if (request.headers.authorization !== `Bearer ${this.host?.credential}`) return this.refusal(401, "runner.unknown");
    if (name === "POST claim") return await this.claim(JSON.parse(body.toString()));
    const lease = this.leases.find((each) => each.spec.lease.id === url.pathname.split("/")[5]);
    if (lease === undefined) return this.refusal(404, "lease.unknown");
    const over = lease.state !== "active";
    switch (name) {
      case "POST lease/renew": {
        if (over) return this.refusal(410, "lease.lost");
        lease.states.push(renewRequestSchema.parse(JSON.parse(body.toString())).state);
        const leaseExpiresAt = new Date(Date.now() + 120_000).toISOString();
        return { status: 200, body: { leaseExpiresAt, cancel: lease.cancel, logIntervalSeconds: 0.05 } };
      }
      case "POST lease/logs": {
        const offset = Number(url.searchParams.get("offset"));
        if (offset > lease.log.length) return this.refusal(409, "logs.gap");
        lease.log = Buffer.concat([lease.log, gunzipSync(body).subarray(lease.log.length - offset)]);
        return {
          status: 200,
          body: { offset: lease.log.length, cancel: lease.cancel || over, logIntervalSeconds: 0.05 },
        };
      }
      case "GET lease/patch":
        return { status: 200, body: Buffer.from(this.patches.get(lease.spec.patch.sha256) ?? "") };
      case "POST lease/bundle": {
        const announced = bundleAnnounceSchema.parse(JSON.parse(body.toString()));
        if (lease.upload?.sha256 !== announced.sha256) lease.upload = { ...announced, received: Buffer.alloc(0) };
        return this.uploadState(lease);
      }
      case "PATCH lease/bundle": {
        const { upload } = lease;
        if (upload === null) return this.refusal(404, "upload.not-announced");
        if (Number(request.headers["upload-offset"]) !== upload.received.length)
          return this.refusal(409, "upload.offset");
        upload.received = Buffer.concat([upload.received, body]);
        return this.uploadState(lease);
      }
      case "POST lease/finish":
        return await this.finish(lease, finishRequestSchema.parse(JSON.parse(body.toString())));
      default:
        return this.refusal(404, "route.unknown");
    }
  }

  private uploadState({ upload }: FakeLease) {
    const offset = upload?.received.length ?? 0;
    return { status: 200, body: { offset, complete: offset === upload?.bytes } };
  }

  private async register(document: unknown) {
    const { token, spki, proof } = registerRequestSchema.parse(document);
    if (!this.tokens.delete(token)) return this.refusal(401, "runner.token-unknown");
    const key = fromBase64(spki);
    if (!(await verifySignature(key, utf8(token), fromBase64(proof)))) return this.refusal(403, "runner.proof");
    this.host = { credential: `irc_${randomUUID()}`, spki: key };
    const server = { name: "fake", keyid: this.signer.keyid, spki: toBase64(this.signer.spki) };
    const body = { hostId: randomUUID(), keyid: await keyidOf(key), credential: this.host.credential, server };
    return { status: 200, body };
  }

  private readonly patches = new Map<string, string>();

  private async claim(document: unknown) {
    const { gradingDigests } = claimRequestSchema.parse(document);
    const index = this.queue.findIndex((job) => gradingDigests.includes(job.gradingDigest));
    const job = this.queue[index];
    if (job === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { status: 204, body: null };
    }
    this.queue.splice(index, 1);
    const sha256 = sha256Hex(job.patch);
    this.patches.set(sha256, job.patch);
    const spec: JobSpec = {
      format: "infradev-job/1",
      jobId: randomUUID(),
      gradingId: randomUUID(),
      attemptId: randomUUID(),
      submissionId: randomUUID(),
      lease: { id: randomUUID(), nonce: "n".repeat(64), expiresAt: new Date(Date.now() + 120_000).toISOString() },
      suite: job.suite,
      task: { slug: job.slug, gradingDigest: job.gradingDigest, gpus: 0, ranks: 2 },
      patch: { sha256, bytes: Buffer.byteLength(job.patch) },
      candidate: {
        kind: "reference",
        model: "gold",
        agent: null,
        agentVersion: null,
        reasoningEffort: null,
        promptCondition: "interface",
        promptDigest: null,
        skill: null,
        networkPolicy: "none",
        budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
      },
    };
    this.leases.push({
      spec,
      state: "active",
      cancel: false,
      states: [],
      log: Buffer.alloc(0),
      upload: null,
      finishes: [],
      verdict: null,
    });
    const envelope = await signEnvelope(jobPayloadType, utf8(JSON.stringify(spec)), this.signer);
    this.tamper(envelope);
    return { status: 200, body: { job: envelope } };
  }

  private async finish(lease: FakeLease, request: FinishRequest) {
    const text = `${lease.spec.lease.id} ${request.status} ${request.bundleSha256 ?? "-"}`;
    const signed =
      this.host !== null && (await verifySignature(this.host.spki, utf8(text), fromBase64(request.signature)));
    if (!signed) return this.refusal(403, "finish.signature-invalid");
    if (request.bundleSha256 !== null) {
      const received = lease.upload?.received ?? Buffer.alloc(0);
      const digest = createHash("sha256").update(received).digest("hex");
      if (digest !== request.bundleSha256) return this.refusal(422, "bundle.digest-mismatch");
    } else if (request.status !== "infra" && request.status !== "canceled") {
      return this.refusal(422, "finish.bundle-missing");
    }
    const first = lease.finishes[0];
    lease.finishes.push(request);
    if (first === undefined) {
      const givenBack = request.status === "infra" || (request.status === "canceled" && !lease.cancel);
      const scored = givenBack ? "requeued" : "accepted";
      lease.verdict =
        lease.state === "lost" ? "late" : request.bundleSha256 === null && scored === "accepted" ? "recorded" : scored;
      if (lease.state === "active") lease.state = "finished";
    } else if (first.status !== request.status || first.bundleSha256 !== request.bundleSha256) {
      return this.refusal(409, "finish.differs");
    }
    return { status: 200, body: { verdict: lease.verdict, gradingId: lease.spec.gradingId, receipt: null } };
  }
}
