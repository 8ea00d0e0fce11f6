import "server-only";
import type postgres from "postgres";
import { channels } from "../announce";
import { logger } from "../logger";

/** Wakes waiting claims when any process has put a job into the queue. */
export type QueueSignal = {
  /** Ends when a job was announced, after `timeoutMs`, or when `signal` aborts. */
  wait(timeoutMs: number, signal?: AbortSignal): Promise<void>;
};

const signals = new WeakMap<postgres.Sql, QueueSignal>();

/** One listening connection for each pool, opened by the first wait. */
export function queueSignalOf(sql: postgres.Sql): QueueSignal {
  let signal = signals.get(sql);
  if (!signal) {
    signal = createQueueSignal(sql);
    signals.set(sql, signal);
  }
  return signal;
}

function createQueueSignal(sql: postgres.Sql): QueueSignal {
  const waiters = new Set<() => void>();
  let listening = false;
  const wakeAll = () => {
    for (const wake of [...waiters]) wake();
  };
  const listen = () => {
    if (listening) return;
    listening = true;
    sql.listen(channels.queue, wakeAll).catch((error: unknown) => {
      listening = false;
      logger().warn({ err: error }, "claims poll, since listening for new jobs failed");
    });
  };
  return {
    wait(timeoutMs, signal) {
      listen();
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          waiters.delete(done);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        waiters.add(done);
        signal?.addEventListener("abort", done, { once: true });
        if (signal?.aborted) done();
      });
    },
  };
}
