import { appendFile, open } from "node:fs/promises";
import { InfraDevError } from "@/lib/contract/errors";
import { protocol } from "@/lib/contract/job";
import { sleep, TransientError } from "./retry";
import type { ServerApi } from "./server-api";

/**
 * Ships a job's log beside the job: lines go to a file at once, and to the server in chunks, at the interval that the
 * server asks for. What could not be sent stays in the file and is sent with the next chunk.
 */
export class LogShipper {
  private offset = 0;
  private intervalSeconds: number;
  private readonly api: ServerApi;
  private readonly leaseId: string;
  private readonly path: string;
  private readonly onCancel: () => void;
  private writing: Promise<void> = Promise.resolve();
  private closed: boolean;

  constructor(
    api: ServerApi,
    leaseId: string,
    path: string,
    options: { intervalSeconds: number; onCancel: () => void },
  ) {
    this.api = api;
    this.leaseId = leaseId;
    this.path = path;
    this.closed = false;
    this.intervalSeconds = options.intervalSeconds;
    this.onCancel = options.onCancel;
  }

  /** Adds a line with its time. A log that cannot be written, as on a full disk, does not fail its job. */
  write(line: string): void {
    if (this.closed) return;
    const text = `${new Date().toISOString()} ${line}\n`;
    this.writing = this.writing.then(() => appendFile(this.path, text, { mode: 0o600 })).catch(() => undefined);
  }

  /** Ends the writing: nothing touches the file after that. */
  async close(): Promise<void> {
    this.closed = true;
    await this.writing;
  }

  /** A renewal's answer carries the interval too. */
  setInterval(seconds: number): void {
    this.intervalSeconds = seconds;
  }

  /** Sends until `signal` aborts; only ever fails by the server's refusal, which ends the shipping and not the job. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.flush(signal).catch((error: unknown) => {
        if (!(error instanceof TransientError) && !signal.aborted) throw error;
      });
      await sleep(this.intervalSeconds * 1000, signal).catch(() => undefined);
    }
  }

  /** Sends everything that was written so far. */
  async flush(signal?: AbortSignal): Promise<void> {
    await this.writing;
    for (;;) {
      const chunk = await this.read();
      if (chunk.byteLength === 0) return;
      try {
        const answer = await this.api.sendLog(this.leaseId, this.offset, chunk, signal);
        this.offset = Math.max(answer.offset, this.offset);
        this.intervalSeconds = answer.logIntervalSeconds;
        if (answer.cancel) this.onCancel();
      } catch (error) {
        if (!(error instanceof InfraDevError && error.code === "logs.gap") || this.offset === 0) throw error;
        this.offset = 0;
      }
    }
  }

  private async read(): Promise<Uint8Array> {
    const file = await open(this.path, "r").catch(() => null);
    if (file === null) return new Uint8Array();
    try {
      const buffer = Buffer.alloc(protocol.logChunkBytes);
      const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, this.offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }
}
