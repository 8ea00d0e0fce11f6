import { InfraDevError, problemResponseSchema } from "@/lib/contract/errors";

/** A failure that may pass: the network, an overloaded or restarting server. */
export class TransientError extends InfraDevError {
  /** Wait that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null, options?: { cause?: unknown }) {
    super(
      "unavailable",
      {
        code: "server.unreachable",
        message,
        rule: "a request is repeated with growing waits while the failure may pass",
        remedy: "check the server's address, the network, and whether the server is up",
      },
      options,
    );
    this.retryAfterMs = retryAfterMs;
  }
}

const transientStatuses = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * What an answer that is no success means: `TransientError` for what may pass, else the server's own refusal as an
 * `InfraDevError`, which repeating would not change. The only place that tells the two apart.
 */
export async function refusalOf(response: Response, what: string): Promise<Error> {
  const text = await response.text().catch(() => "");
  if (transientStatuses.has(response.status)) {
    const seconds = Number(response.headers.get("retry-after"));
    const wait = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null;
    return new TransientError(`${what}: the server answered ${response.status}`, wait);
  }
  const parsed = problemResponseSchema.safeParse(jsonOrNull(text));
  const kinds: Record<number, InfraDevError["kind"]> = {
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    409: "conflict",
    410: "gone",
    413: "too-large",
  };
  const kind = kinds[response.status] ?? "invalid";
  if (parsed.success) return new InfraDevError(kind, parsed.data.error);
  return new InfraDevError(kind, {
    code: "server.unexpected-answer",
    message: `${what}: the server answered ${response.status} without saying why`,
    where: response.url,
    rule: "refusals carry a problem document",
    remedy: "check that --server names an InfraDev server",
  });
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export type Backoff = { firstMs: number; maxMs: number; factor: number };
export const defaultBackoff: Backoff = { firstMs: 500, maxMs: 30_000, factor: 2 };

/** Waits, or rejects with the signal's reason when it aborts first. */
export function sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, durationMs);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Repeats `attempt` while it fails with a `TransientError`, with growing waits of ±20 %. Gives up when `deadline`
 * (Unix milliseconds) would pass, with the last error; a refusal is thrown at once.
 */
export async function withRetry<T>(
  attempt: () => Promise<T>,
  options: {
    backoff: Backoff;
    signal?: AbortSignal;
    deadline?: () => number;
    onRetry?: (error: TransientError, waitMs: number) => void;
  },
): Promise<T> {
  let wait = options.backoff.firstMs;
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      const jittered = error.retryAfterMs ?? wait * (0.8 + Math.random() * 0.4);
      if (options.deadline !== undefined && Date.now() + jittered > options.deadline()) throw error;
      options.onRetry?.(error, jittered);
      await sleep(jittered, options.signal);
      wait = Math.min(options.backoff.maxMs, wait * options.backoff.factor);
    }
  }
}
