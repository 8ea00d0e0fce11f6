import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import {
  bundleOffsetResponseSchema,
  type ClaimRequest,
  claimResponseSchema,
  type FinishRequest,
  type FinishResponse,
  finishResponseSchema,
  logsResponseSchema,
  protocol,
  type RegisterRequest,
  type RegisterResponse,
  type RenewResponse,
  registerResponseSchema,
  renewResponseSchema,
} from "@/lib/contract/job";
import {
  type UploadAnnounce,
  type UploadFinishResponse,
  uploadAnnounceResponseSchema,
  uploadFinishResponseSchema,
} from "@/lib/contract/upload";
import type { JobState } from "@/lib/contract/vocabulary";
import { withinTime } from "../within-time";
import { refusalOf, TransientError } from "./retry";

export type LogsAnswer = z.infer<typeof logsResponseSchema>;
export type OffsetAnswer = z.infer<typeof bundleOffsetResponseSchema>;
export type ClaimedJob = z.infer<typeof claimResponseSchema>["job"];

const protocolName = "v1";
const compress = promisify(gzip);
const requestTimeoutMs = 60_000;

/** Checks that a server's address is HTTPS, or plain HTTP to this machine itself, and names nothing but the server. */
export function parseServerUrl(text: string): URL {
  const refusal = (message: string, rule: string, remedy: string): InfraDevError =>
    new InfraDevError("invalid", { code: "usage.server-url", message, where: "--server", rule, remedy });
  // 'localhost:3000' is one too, of a scheme localhost.
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.host === "") {
    throw refusal(
      "what is given is no address of a server",
      "an address such as https://infradev.example",
      "give the server's whole address, with https:// (http:// for this machine itself)",
    );
  }
  const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    throw refusal(
      `${url.protocol}//${url.host} is not reached by HTTPS`,
      "credentials travel over HTTPS only; plain HTTP is for this machine itself",
      "use https://, or a loopback address",
    );
  }
  if (url.href !== `${url.origin}/`) {
    throw refusal(
      "the address names more than a server",
      "scheme, host and port: a site answers at the root of its host",
      `give ${url.origin}`,
    );
  }
  return url;
}

/**
 * The runner's side of the protocol. Every call is one request; what may pass is thrown as `TransientError`, what the
 * server refuses as `InfraDevError`. Repeating is the caller's business.
 */
export class ServerApi {
  readonly server: URL;
  private readonly credential: string | null;

  constructor(server: URL, credential: string | null) {
    this.server = server;
    this.credential = credential;
  }

  /** Sends one request and reads its whole answer; a connection that breaks in either is transient. */
  private async send(path: string, what: string, init: RequestInit, timeoutMs = requestTimeoutMs): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.credential !== null) headers.set("authorization", `Bearer ${this.credential}`);
    let response: Response;
    let body: ArrayBuffer;
    try {
      [response, body] = await withinTime(timeoutMs, init.signal, async (signal) => {
        const answer = await fetch(new URL(path, this.server), { ...init, headers, signal, redirect: "error" });
        return [answer, await answer.arrayBuffer()];
      });
    } catch (cause) {
      if (init.signal?.aborted) throw init.signal.reason;
      const reason = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : "";
      throw new TransientError(`${what}: the server cannot be reached (${reason})`, null, { cause });
    }
    const whole = new Response(response.status === 204 ? null : body, response);
    if (!response.ok) throw await refusalOf(whole, what);
    return whole;
  }

  private async sendJson<T extends z.ZodType>(
    path: string,
    what: string,
    schema: T,
    init: RequestInit,
    timeoutMs?: number,
  ): Promise<z.infer<T>> {
    const response = await this.send(path, what, init, timeoutMs);
    const parsed = schema.safeParse(await response.json().catch(() => null));
    if (!parsed.success) {
      throw new InfraDevError("invalid", {
        code: "server.unexpected-answer",
        message: `${what}: the server's answer does not have the expected form`,
        where: path,
        rule: `protocol of runner ${protocolName}`,
        remedy: "check that --server names an InfraDev server of this version",
      });
    }
    return parsed.data;
  }

  private post(document: unknown, signal?: AbortSignal): RequestInit {
    return {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(document),
      ...(signal === undefined ? {} : { signal }),
    };
  }

  register(request: RegisterRequest): Promise<RegisterResponse> {
    return this.sendJson("/api/runner/v1/register", "register", registerResponseSchema, this.post(request));
  }

  /** Waits up to `request.waitSeconds` for a job; null where there is none. */
  async claim(request: ClaimRequest, signal?: AbortSignal): Promise<ClaimedJob | null> {
    const timeoutMs = (request.waitSeconds + 20) * 1000;
    const response = await this.send("/api/runner/v1/claim", "claim", this.post(request, signal), timeoutMs);
    if (response.status === 204) return null;
    const parsed = claimResponseSchema.safeParse(await response.json().catch(() => null));
    if (parsed.success) return parsed.data.job;
    throw new InfraDevError("invalid", {
      code: "server.unexpected-answer",
      message: "claim: the server's answer holds no job",
      where: "/api/runner/v1/claim",
      rule: `protocol of runner ${protocolName}`,
      remedy: "check that server and runner are of the same version",
    });
  }

  private lease(leaseId: string, action: string): string {
    return `/api/runner/v1/leases/${encodeURIComponent(leaseId)}/${action}`;
  }

  renew(leaseId: string, state: JobState, progress: string | null, signal?: AbortSignal): Promise<RenewResponse> {
    const body = this.post({ state, progress: progress?.slice(0, 300) ?? null }, signal);
    return this.sendJson(this.lease(leaseId, "renew"), "renew", renewResponseSchema, body, 20_000);
  }

  /** Sends log bytes that begin at `offset`; the answer's offset says what the server has. */
  async sendLog(leaseId: string, offset: number, bytes: Uint8Array, signal?: AbortSignal): Promise<LogsAnswer> {
    const init: RequestInit = {
      method: "POST",
      headers: { "content-type": "application/octet-stream", "content-encoding": "gzip" },
      body: new Uint8Array(await compress(bytes)),
      ...(signal === undefined ? {} : { signal }),
    };
    return this.sendJson(`${this.lease(leaseId, "logs")}?offset=${offset}`, "logs", logsResponseSchema, init);
  }

  /** The candidate patch of a leased job. */
  async fetchPatch(leaseId: string, signal?: AbortSignal): Promise<Buffer> {
    const init = signal === undefined ? {} : { signal };
    const response = await this.send(this.lease(leaseId, "patch"), "patch", init);
    return Buffer.from(await response.arrayBuffer());
  }

  finish(leaseId: string, request: FinishRequest, signal?: AbortSignal): Promise<FinishResponse> {
    return this.sendJson(
      this.lease(leaseId, "finish"),
      "finish",
      finishResponseSchema,
      this.post(request, signal),
      120_000,
    );
  }

  /** Opens an upload, or finds how far it got. `path` is the upload's resource. */
  announce(path: string, file: { sha256: string; bytes: number }, signal?: AbortSignal): Promise<OffsetAnswer> {
    return this.sendJson(path, "announce", bundleOffsetResponseSchema, this.post(file, signal));
  }

  /** Appends bytes of a file from `offset` on, at most one chunk. */
  async append(
    path: string,
    file: string,
    offset: number,
    signal?: AbortSignal,
    chunkBytes: number = protocol.uploadChunkBytes,
  ): Promise<OffsetAnswer> {
    const handle = await open(file, "r");
    let chunk: Uint8Array;
    try {
      const buffer = Buffer.alloc(chunkBytes);
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes, offset);
      chunk = new Uint8Array(buffer.subarray(0, bytesRead));
    } finally {
      await handle.close();
    }
    const init: RequestInit = {
      method: "PATCH",
      headers: { "content-type": "application/octet-stream", "upload-offset": String(offset) },
      body: chunk as Uint8Array<ArrayBuffer>,
      ...(signal === undefined ? {} : { signal }),
    };
    return this.sendJson(path, "upload", bundleOffsetResponseSchema, init, 300_000);
  }

  announceSelfMade(announcement: UploadAnnounce): Promise<z.infer<typeof uploadAnnounceResponseSchema>> {
    return this.sendJson("/api/v1/uploads", "announce", uploadAnnounceResponseSchema, this.post(announcement));
  }

  finishSelfMade(id: string): Promise<UploadFinishResponse> {
    const path = `/api/v1/uploads/${encodeURIComponent(id)}/finish`;
    return this.sendJson(path, "finish", uploadFinishResponseSchema, this.post({}), 120_000);
  }

  bundlePath(leaseId: string): string {
    return this.lease(leaseId, "bundle");
  }
}
