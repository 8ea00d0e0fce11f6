import "server-only";
import { createHash } from "node:crypto";
import type { z } from "zod";
import { InfraDevError, type Problem, problemFromZod } from "@/lib/contract/errors";
import { mostOffset, wholeNumberSchema } from "@/lib/contract/scalars";
import { logger } from "./logger";

const offsetSchema = wholeNumberSchema(0, mostOffset);

/** Largest JSON body that any route reads. */
const jsonBodyLimitBytes = 1024 * 1024;

/**
 * Runs a route and maps what it throws, here and nowhere else: a refusal to its status and problem, anything else to
 * a 500 without detail, with the detail in the log.
 */
export async function respond(route: () => Promise<Response>): Promise<Response> {
  try {
    return await route();
  } catch (error) {
    // Loaded here: programs outside of Next use this module too, and it cannot be loaded there.
    const { unstable_rethrow } = await import("next/navigation");
    unstable_rethrow(error);
    return responseToError(error);
  }
}

function responseToError(error: unknown): Response {
  if (error instanceof InfraDevError) {
    if (error.kind === "internal") logger().error({ err: error }, error.message);
    return problemResponse(error.httpStatus, error.problem);
  }
  logger().error({ err: error }, "a request failed unexpectedly");
  return problemResponse(500, {
    code: "server.unexpected",
    message: "the server failed while it handled this request",
    remedy: "try again; if it happens again, report the time of the request to the operator",
  });
}

function problemResponse(status: number, problem: Problem): Response {
  const headers: Record<string, string> = { "cache-control": "no-store" };
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="infradev"';
  if (status === 503) headers["retry-after"] = "5";
  return Response.json({ error: problem }, { status, headers });
}

export function json(body: unknown, init: { status?: number; headers?: Record<string, string> } = {}): Response {
  return Response.json(body, {
    status: init.status ?? 200,
    headers: { "cache-control": "no-store", ...init.headers },
  });
}

/**
 * An answer of the public interface: anybody may keep it, and asks with its `ETag` whether it still holds, so that what
 * was withdrawn or graded again is never shown from a cache.
 */
export function publicText(request: Request, text: string | Uint8Array<ArrayBuffer>, contentType: string): Response {
  const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 27)}"`;
  const headers = { etag, "cache-control": "public, no-cache" };
  const known = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known.includes(etag) || known.includes("*")) return new Response(null, { status: 304, headers });
  return new Response(text, { headers: { ...headers, "content-type": contentType } });
}

export function publicJson(request: Request, body: unknown): Response {
  return publicText(request, JSON.stringify(body), "application/json");
}

/** Reads a body of at most `limitBytes` whole. Throws `request.too-large`. */
export async function readBody(request: Request, limitBytes: number): Promise<Buffer> {
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > limitBytes) throw tooLarge(limitBytes);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of bodyChunks(request)) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The body as it arrives; a connection that breaks off ends it as `request.interrupted`. */
export async function* bodyChunks(request: Request): AsyncGenerator<Uint8Array> {
  if (!request.body) return;
  const reader = request.body.getReader();
  try {
    for (;;) {
      let part: ReadableStreamReadResult<Uint8Array>;
      try {
        part = await reader.read();
      } catch (cause) {
        throw new InfraDevError(
          "invalid",
          {
            code: "request.interrupted",
            message: "the connection ended before the whole body had arrived",
            rule: "what had arrived is kept",
            remedy: "ask for the offset and continue there",
          },
          { cause },
        );
      }
      if (part.done) return;
      yield part.value;
    }
  } finally {
    reader.releaseLock();
  }
}

/** Parses a JSON body. Throws `request.not-json` or `request.invalid`, naming the field. */
export async function parseJsonBody<S extends z.ZodType>(request: Request, schema: S): Promise<z.output<S>> {
  const bytes = await readBody(request, jsonBodyLimitBytes);
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new InfraDevError(
      "invalid",
      {
        code: "request.not-json",
        message: "the request's body is not JSON in UTF-8",
        where: new URL(request.url).pathname,
        rule: "bodies of this route are JSON documents",
        remedy: "send a JSON document with content-type application/json",
      },
      { cause },
    );
  }
  return parseWith(schema, document, { code: "request.invalid", what: "the request's body", where: "body" });
}

export function parseWith<S extends z.ZodType>(
  schema: S,
  value: unknown,
  subject: { code: string; what: string; where?: string; rule?: string; remedy?: string },
): z.output<S> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new InfraDevError("invalid", problemFromZod(parsed.error, subject));
  return parsed.data;
}

export function nonNegativeInteger(text: string | null, name: string): number {
  return Number(
    parseWith(offsetSchema, text ?? "", {
      code: "request.invalid",
      what: name,
      where: name,
      rule: "offsets count bytes from 0",
      remedy: `send ${name} with the offset at which the bytes begin`,
    }),
  );
}

function tooLarge(limitBytes: number): InfraDevError {
  return new InfraDevError("too-large", {
    code: "request.too-large",
    message: `the request's body is larger than ${limitBytes} bytes`,
    rule: `at most ${limitBytes} bytes a request`,
    remedy: "send less at once",
  });
}

/**
 * The named parameters of a query that are given, parsed; values of one that is given more than once are joined by
 * commas. Throws `<code>`, naming the parameter.
 */
export function parseQuery<S extends z.ZodObject>(
  request: Request,
  schema: S,
  subject: { code: string; what: string; remedy?: string },
): z.output<S> {
  const query = new URL(request.url).searchParams;
  const given = Object.fromEntries(
    Object.keys(schema.shape).flatMap((name) => {
      const values = query.getAll(name);
      return values.length === 0 ? [] : [[name, values.join(",")]];
    }),
  );
  const rule = "parameters have the forms that /docs/api lists";
  const remedy = "correct the named parameter";
  return parseWith(schema, given, { where: "query", rule, remedy, ...subject });
}

/** The value, or a 404 that names what was asked for. */
export function found<T>(value: T | null, code: string, where: string): T {
  if (value !== null) return value;
  throw new InfraDevError("not-found", {
    code,
    message: "there is nothing under this name",
    where: where.slice(0, 200),
    rule: "names are those that /api/v1/suites and the pages link to",
    remedy: "follow a link of the site, or list what there is with /api/v1/suites",
  });
}
