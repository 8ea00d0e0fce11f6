import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { InfraDevError } from "@/lib/contract/errors";
import type { ControlEvent, LaunchEnd, LaunchRequest, RankOutput } from "./executor";

/** One event line holds a message and frames of bounded length; anything longer was not written by the plugin. */
const maxLineBytes = 1024 * 1024;
const maxEventBytes = 16 * 1024 * 1024;
const controlDescriptor = 3;
const descriptorOf = (rank: number, stream: 0 | 1 | 2): number => controlDescriptor + 1 + rank * 3 + stream;

/** Keeps the first `limit` bytes of a stream and counts the rest. */
class BoundedOutput {
  private readonly chunks: Buffer[] = [];
  private kept = 0;
  private dropped = 0;
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  push(chunk: Buffer): void {
    const room = this.limit - this.kept;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (part.length > 0) this.chunks.push(part);
    this.kept += part.length;
    this.dropped += chunk.length - part.length;
  }

  take(): Buffer {
    if (this.dropped > 0) {
      this.chunks.push(Buffer.from(`\n[output cut here: ${this.dropped} more bytes, limit ${this.limit}]\n`));
    }
    return Buffer.concat(this.chunks);
  }
}

/** Splits a stream into lines; a line without a break at the stream's end is given only where `keepPartial` is set. */
function onLines(stream: Readable, onLine: (line: Buffer) => void, onOverflow: () => void): void {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let total = 0;
  let overflowed = false;
  stream.on("data", (chunk: Buffer) => {
    total += chunk.length;
    if (overflowed) return;
    let start = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      pending.push(chunk.subarray(start, at));
      const line = pending.length === 1 ? pending[0] : Buffer.concat(pending);
      pending = [];
      pendingBytes = 0;
      start = at + 1;
      if (line !== undefined) onLine(line);
    }
    if (start < chunk.length) {
      pending.push(chunk.subarray(start));
      pendingBytes += chunk.length - start;
    }
    if (pendingBytes > maxLineBytes || total > maxEventBytes) {
      overflowed = true;
      pending = [];
      onOverflow();
    }
  });
}

export type SpawnOptions = {
  program: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
  /** Gives the process a group of its own, so that one signal reaches all of it. */
  detached: boolean;
  limits: { dataBytes: number | null; processes: number | null };
  /** Whether the launch has a network of its own, in which every port is free. */
  privateNetwork: boolean;
};

export type LaunchProcess = {
  child: ChildProcess;
  /** Sends a line to the launcher inside. */
  tell(command: "dump" | "kill"): void;
  /** Sends an empty line over a rank's event channel. */
  release(rank: number): void;
  /** Resolves when the started process ended and all its streams were read. */
  closed: Promise<Pick<LaunchEnd, "outputs" | "launcherOutput">>;
};

/**
 * Starts the launcher with a control channel and, for each rank, an event channel and two output streams. All channels
 * are socket pairs: unlike pipes they cannot be opened again through /proc by another process of the launch.
 */
export async function startLaunchProcess(request: LaunchRequest, options: SpawnOptions): Promise<LaunchProcess> {
  const { nproc, handlers } = request;
  const stdio: StdioOptions = Array<"pipe">(controlDescriptor + 1 + nproc * 3).fill("pipe");
  const child = spawn(options.program, [...options.args], {
    cwd: options.cwd,
    env: options.env as NodeJS.ProcessEnv,
    detached: options.detached,
    stdio,
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause: NodeJS.ErrnoException) => {
      reject(
        new InfraDevError(
          "unavailable",
          {
            code: "executor.start",
            message: `the launch could not be started: ${cause.message}`,
            where: options.program,
            rule: "the runner can start processes",
            remedy:
              cause.code === "EAGAIN" || cause.code === "EMFILE"
                ? "raise the limits of processes and open files (ulimit -u, ulimit -n)"
                : "check that the program exists and may be executed",
          },
          { cause },
        ),
      );
    });
  });
  const streams = child.stdio as unknown as (Duplex | undefined)[];
  const streamAt = (descriptor: number): Duplex => {
    const stream = streams[descriptor];
    if (stream === undefined) throw new Error(`descriptor ${descriptor} is no pipe`);
    // A peer that ends early resets the channel; what it has not read is of no use to anyone.
    stream.on("error", () => undefined);
    return stream;
  };
  const launcher = new BoundedOutput(256 * 1024);
  streamAt(1).on("data", (chunk: Buffer) => launcher.push(chunk));
  streamAt(2).on("data", (chunk: Buffer) => launcher.push(chunk));
  onLines(
    streamAt(controlDescriptor),
    (line) => {
      // Only the launcher holds this channel; a line that its death cut short says nothing.
      try {
        handlers.onControl(JSON.parse(line.toString("utf8")) as ControlEvent);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    },
    () => undefined,
  );
  const outputs = Array.from({ length: nproc }, (_, rank) => {
    const events = streamAt(descriptorOf(rank, 0));
    onLines(
      events,
      (line) => handlers.onEventLine(rank, line),
      () => handlers.onOverflow(rank),
    );
    events.write(`${request.openings[rank] ?? ""}\n`);
    const stdout = new BoundedOutput(request.outputBytes);
    const stderr = new BoundedOutput(request.outputBytes);
    streamAt(descriptorOf(rank, 1)).on("data", (chunk: Buffer) => stdout.push(chunk));
    streamAt(descriptorOf(rank, 2)).on("data", (chunk: Buffer) => stderr.push(chunk));
    return { stdout, stderr };
  });
  const closed = new Promise<Pick<LaunchEnd, "outputs" | "launcherOutput">>((resolve) => {
    child.once("close", () => {
      resolve({
        outputs: outputs.map(({ stdout, stderr }): RankOutput => ({ stdout: stdout.take(), stderr: stderr.take() })),
        launcherOutput: launcher.take().toString("utf8"),
      });
    });
  });
  const stdin = streamAt(0);
  const spec = {
    nproc,
    launcher: request.launcher,
    private_network: options.privateNetwork,
    cwd: request.cwd,
    path: request.searchPath,
    args: request.args,
    fds: Array.from({ length: nproc }, (_, rank) => [
      descriptorOf(rank, 0),
      descriptorOf(rank, 1),
      descriptorOf(rank, 2),
    ]),
    control: controlDescriptor,
    limits: { data_bytes: options.limits.dataBytes, processes: options.limits.processes },
  };
  stdin.write(`${JSON.stringify(spec)}\n`);
  return {
    child,
    tell: (command) => {
      if (!stdin.destroyed) stdin.write(`${command}\n`);
    },
    release: (rank) => {
      const events = streams[descriptorOf(rank, 0)];
      if (events?.destroyed === false) events.write("\n");
    },
    closed,
  };
}

/** Whether a promise resolves in time. */
export async function within(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const first = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return first;
}

/** What a launch printed, once its streams are closed; where something still holds them after `limitMs`, what came so far. */
export async function closeWithin(
  { child, closed }: Pick<LaunchProcess, "child" | "closed">,
  limitMs: number,
): Promise<Pick<LaunchEnd, "outputs" | "launcherOutput" | "clean">> {
  const clean = await within(closed, limitMs);
  if (!clean) for (const stream of child.stdio) stream?.destroy();
  return { ...(await closed), clean };
}
