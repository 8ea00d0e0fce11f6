import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type Captured, type CaptureOptions, capture } from "./capture";

const markVariable = "INFRADEV_TREE";
/** How long the system may take to end what was killed. */
const endWithinMs = 10_000;

/** Waits for the end of its input, then kills what has the mark in its environment, until there is none or for 5 s. */
const killer = `trap '' INT TERM HUP
read -r word
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  found=$(grep -lsF -- "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for path in $found; do pid=\${path#/proc/}; kill -9 "\${pid%/environ}"; done
  sleep 0.5
done`;

type TreeOptions = Required<Pick<CaptureOptions, "cwd" | "env" | "timeoutMs">> & { signal: AbortSignal | undefined };

/**
 * Runs a program to its end as `capture` does, and ends all that it started, in whatever session, with it: at its end,
 * at `timeoutMs`, when `signal` aborts (then throws what that says), and with this process, however that ends. What
 * belongs to it is told by a mark in its environment. Throws where the system does not end what was killed.
 */
export async function captureTree(
  program: string,
  args: readonly string[],
  { cwd, env, timeoutMs, signal }: TreeOptions,
): Promise<Captured> {
  const mark = randomUUID();
  const guardian = spawn("/bin/sh", ["-c", killer, "infradev-tree", `${markVariable}=${mark}`], {
    cwd: "/",
    detached: true,
    env: { PATH: "/usr/bin:/bin" } as unknown as NodeJS.ProcessEnv,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guardian.stdin.on("error", () => undefined);
  await once(guardian, "spawn");
  const gone = once(guardian, "exit");
  let giveUp: (value: null) => void = () => undefined;
  const stuck = new Promise<null>((resolve) => {
    giveUp = resolve;
  });
  const end = (): void => {
    guardian.stdin.end();
    setTimeout(() => giveUp(null), endWithinMs).unref();
  };
  const timer = setTimeout(end, timeoutMs);
  signal?.addEventListener("abort", end);
  try {
    signal?.throwIfAborted();
    const run = capture(program, args, { cwd, env: { ...env, [markVariable]: mark } });
    const captured = await Promise.race([run, stuck]);
    if (captured === null) throw new Error(`${program} was killed and has not ended`);
    guardian.stdin.end();
    // Nothing is left of it before a failure is told; a good end need not wait for what does not print any more.
    if (captured.code !== 0) await Promise.race([gone, stuck]);
    signal?.throwIfAborted();
    return captured;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    guardian.stdin.end();
  }
}
