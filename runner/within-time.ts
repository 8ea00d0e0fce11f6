/**
 * Does a piece of work with a signal that aborts as `signal` does, and with a `TimeoutError` once `ms` have passed; its
 * end stops the clock. The clock holds on to its signal, where the timer of an `AbortSignal.timeout` that stands only in
 * an `AbortSignal.any` goes with a garbage collection (Node 20), and never comes.
 */
export async function withinTime<T>(
  ms: number,
  signal: AbortSignal | null | undefined,
  work: (within: AbortSignal) => Promise<T>,
): Promise<T> {
  const limitMs = Math.min(Math.max(0, Math.round(ms)), 2 ** 31 - 1);
  const over = new AbortController();
  const end = (): void => over.abort(new DOMException(`not done within ${limitMs} ms`, "TimeoutError"));
  const timer = setTimeout(end, limitMs);
  try {
    return await work(signal ? AbortSignal.any([signal, over.signal]) : over.signal);
  } finally {
    clearTimeout(timer);
  }
}
