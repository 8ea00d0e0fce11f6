import { afterEach, describe, expect, it, vi } from "vitest";
import { runCommand } from "./run-command";

/** What Node tells of a write that failed, where nothing listens: an unhandled error. */
const failWrite = (stream: NodeJS.WriteStream, code: string): boolean =>
  stream.emit("error", Object.assign(new Error(`write ${code}`), { code, syscall: "write" }));

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

let told = "";
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** Runs a command to whose output this happens, and tells what was said, and whether it was let clean up. */
async function run(happens: () => void, command = untilAborted as (signal: AbortSignal) => Promise<number>) {
  told = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told += String(text);
    return true;
  });
  let cleanedUp = false;
  await runCommand({}, async (_output, signal) => {
    try {
      setImmediate(happens);
      return await command(signal);
    } finally {
      cleanedUp = true;
    }
  });
  return { code: process.exitCode, cleanedUp, told };
}

describe("a command whose output cannot be written", () => {
  it("is ended quietly, after cleaning up, where stdout's reader went away", async () => {
    expect(await run(() => failWrite(process.stdout, "EPIPE"))).toEqual({ code: 141, cleanedUp: true, told: "" });
  });

  it("keeps its own exit code where it was through by then, or heeds no signal", async () => {
    const through = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 1;
    };
    expect(await run(() => failWrite(process.stdout, "EPIPE"), through)).toMatchObject({ code: 1 });
    failWrite(process.stdout, "EPIPE");
    expect(process.exitCode).toBe(1);
  });

  it("goes on where only stderr's reader went away", async () => {
    const through = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 0;
    };
    expect(await run(() => failWrite(process.stderr, "EPIPE"), through)).toMatchObject({ code: 0 });
  });

  it("leaves the first Ctrl-C for cleaning up, even after the reader went away", async () => {
    const exit = vi.spyOn(process, "exit").mockImplementation((() => undefined) as never);
    const listeners = process.listenerCount("SIGINT");
    await run(
      () => {
        failWrite(process.stdout, "EPIPE");
        process.listeners("SIGINT")[listeners]?.("SIGINT");
      },
      (signal) => untilAborted(signal),
    );
    expect(exit).not.toHaveBeenCalled();
  });

  // The last: a result that is lost stays lost for this process.
  it("fails, and says why, where stdout's disk is full", async () => {
    const { code, cleanedUp } = await run(() => failWrite(process.stdout, "ENOSPC"));
    expect([code, cleanedUp]).toEqual([2, true]);
    for (const part of ["environment.disk-full", "standard output", "remedy"]) expect(told).toContain(part);
  });
});
