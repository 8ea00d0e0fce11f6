import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

/** What one measurement has started and made, undone at its end, also after a failure or a signal. */
export interface Session {
  /** A folder of its own; removed at the end. */
  dir: string;
  /** A line of progress on stderr. */
  say(text: string): void;
  /** Undone last first. */
  defer(undo: () => Promise<unknown>): void;
}

export async function withSession<T>(name: string, work: (session: Session) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), `infradev-bench-${name}-`));
  const undos: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })];
  const startedMs = performance.now();
  const undoAll = async () => {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
  };
  let ending = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (ending) return;
    ending = true;
    void undoAll().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    return await work({
      dir,
      say: (text) =>
        process.stderr.write(`${name} ${((performance.now() - startedMs) / 1000).toFixed(0)} s: ${text}\n`),
      defer: (undo) => undos.push(undo),
    });
  } finally {
    await undoAll();
  }
}
