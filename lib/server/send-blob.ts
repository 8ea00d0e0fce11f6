import "server-only";
import { Readable } from "node:stream";
import type { ByteRange } from "./blob-store";
import type { ServerContext } from "./context";

export type SentBlob = {
  sha256: string;
  bytes: number;
  contentType: string;
  fileName: string;
  /** Public blobs never change under their address, so caches may keep them. */
  visibility: "public" | "private";
  disposition?: "inline" | "attachment";
};

/**
 * Streams a blob, whole or one byte range of it (RFC 9110, 14). What keeps a browser from running it (nosniff, a policy
 * that allows nothing) stands in security-headers.ts, with all other headers of every answer.
 */
export async function sendBlob(context: ServerContext, request: Request, blob: SentBlob): Promise<Response> {
  const headers: Record<string, string> = {
    "accept-ranges": "bytes",
    etag: `"${blob.sha256}"`,
    "content-type": blob.contentType,
    "content-disposition": `${blob.disposition ?? "inline"}; filename="${blob.fileName.replaceAll(/[^\w.-]/g, "_")}"`,
    "cache-control": blob.visibility === "public" ? "public, max-age=31536000, immutable" : "private, no-store",
  };
  if (request.headers.get("if-none-match") === headers["etag"]) return new Response(null, { status: 304, headers });
  const range = parseRange(request.headers.get("range"), blob.bytes);
  if (range === "unsatisfiable") {
    return new Response(null, { status: 416, headers: { ...headers, "content-range": `bytes */${blob.bytes}` } });
  }
  if (blob.bytes === 0) return new Response(null, { status: 200, headers: { ...headers, "content-length": "0" } });
  if (range === null) {
    headers["content-length"] = String(blob.bytes);
    return new Response(webStream(await context.blobs.read(blob.sha256)), { status: 200, headers });
  }
  headers["content-length"] = String(range.end - range.start + 1);
  headers["content-range"] = `bytes ${range.start}-${range.end}/${blob.bytes}`;
  return new Response(webStream(await context.blobs.read(blob.sha256, range)), { status: 206, headers });
}

/** Null where the whole is wanted: no range, several, or one that is not understood. */
function parseRange(header: string | null, bytes: number): ByteRange | "unsatisfiable" | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return null;
  if (match[1] === "") {
    const suffix = Math.min(Number(match[2]), bytes);
    return suffix === 0 ? "unsatisfiable" : { start: bytes - suffix, end: bytes - 1 };
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? bytes - 1 : Math.min(Number(match[2]), bytes - 1);
  if (match[2] !== "" && Number(match[2]) < start) return null;
  return start >= bytes ? "unsatisfiable" : { start, end };
}

function webStream(stream: Readable): ReadableStream<Uint8Array> {
  return Readable.toWeb(stream) as ReadableStream<Uint8Array>;
}
