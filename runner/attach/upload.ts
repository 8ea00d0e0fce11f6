import { InfraDevError } from "@/lib/contract/errors";
import { type Backoff, TransientError, withRetry } from "./retry";
import type { ServerApi } from "./server-api";

/** Refusals that say where the upload really stands; asking again mends them. */
const realignCodes = new Set(["upload.offset", "upload.busy", "upload.not-announced", "request.interrupted"]);

/** Asks how far an upload got, and where its bytes go. */
export type Announce = () => Promise<{ resource: string; offset: number; complete: boolean }>;

/**
 * Sends a file to an upload resource in chunks and goes on where it broke off: each round asks for the offset reached
 * and appends from there. Ends when the server has every byte. Throws the server's refusal, or the last
 * `TransientError` when `deadline` passes.
 */
export async function uploadFile(
  api: ServerApi,
  announce: Announce,
  path: string,
  options: {
    backoff: Backoff;
    signal?: AbortSignal;
    deadline?: () => number;
    chunkBytes?: number;
    onProgress?: (sentBytes: number) => void;
    onRetry?: (error: TransientError, waitMs: number) => void;
  },
): Promise<void> {
  await withRetry(async () => {
    const { resource, ...reached } = await announce();
    let state = reached;
    options.onProgress?.(state.offset);
    while (!state.complete) {
      const before = state.offset;
      try {
        state = await api.append(resource, path, before, options.signal, options.chunkBytes);
      } catch (error) {
        if (error instanceof InfraDevError && realignCodes.has(error.code)) {
          throw new TransientError(error.message, null, { cause: error });
        }
        throw error;
      }
      if (!state.complete && state.offset <= before) throw new TransientError("upload: no byte arrived", null);
      options.onProgress?.(state.offset);
    }
  }, options);
}
