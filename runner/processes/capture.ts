import { spawn } from "node:child_process";

export type Captured = { code: number | null; signal: string | null; stdout: string; stderr: string };

export type CaptureOptions = {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
};

/**
 * Runs a program to its end and gives what it printed; a non-zero exit is no error here. Rejects with the system's
 * error (`ENOENT`) where the program cannot be started. Ended by SIGKILL at `timeoutMs` or when `signal` aborts.
 */
export function capture(program: string, args: readonly string[], options: CaptureOptions = {}): Promise<Captured> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: options.env as NodeJS.ProcessEnv }),
      stdio: ["pipe", "pipe", "pipe"],
      killSignal: "SIGKILL",
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    // Not spawn's own `timeout`: its timer outlives a program that could not be started, and holds this process open.
    const timer =
      options.timeoutMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), options.timeoutMs);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({
        code,
        signal,
        stdout: Buffer.concat(out).toString("utf8"),
        stderr: Buffer.concat(err).toString("utf8"),
      });
    });
  });
}
