import "server-only";
import type { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import { serverEnv } from "../env";
import { parseWith, readBody } from "../http";

const formLimitBytes = 64 * 1024;

/**
 * Refuses a write that another site's page sent: browsers say where a form stands (`Origin`), and it must stand here.
 * Throws `request.foreign-origin`.
 */
export function requireOwnOrigin(request: Request): void {
  const origin = request.headers.get("origin");
  if (origin !== null && ownOrigins(request).includes(origin)) return;
  throw new InfraDevError("forbidden", {
    code: "request.foreign-origin",
    message: origin === null ? "the request does not say where it comes from" : "the request comes from another site",
    where: "Origin",
    rule: "what changes something is sent by this site's own pages",
    remedy: "use the form on this site; where a proxy stands in front of it, set INFRADEV_SITE_URL to its address",
  });
}

/** The site's address where it is set; else the one that the request was sent to. */
function ownOrigins(request: Request): string[] {
  const { siteUrl } = serverEnv();
  if (siteUrl !== null) return [new URL(siteUrl).origin];
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return [`http://${host}`, `https://${host}`];
}

/** The fields of a URL-encoded form, parsed; fields that were left empty are absent. Throws `request.invalid`. */
export async function parseForm<S extends z.ZodType>(request: Request, schema: S): Promise<z.output<S>> {
  const text = new TextDecoder().decode(await readBody(request, formLimitBytes));
  const fields: Record<string, string> = {};
  // Of a field that is sent twice, the last one: a checkbox behind its hidden default.
  for (const [name, value] of new URLSearchParams(text)) if (value !== "") fields[name] = value;
  return parseWith(schema, fields, { code: "request.invalid", what: "the form", where: "form" });
}

/** A path of this site, for after a form; anything else becomes `fallback`. */
export function ownPath(path: string | undefined, fallback: string): string {
  return path !== undefined && /^\/(?:label|account|failures)(?:[/?#][\x21-\x7e]*)?$/.test(path) && !path.includes("\\")
    ? path
    : fallback;
}

/**
 * 303: what the browser asks for next is a page. Cookies go out `Secure` where the request came by https, also where a
 * site was not told its address.
 */
export function seeOther(path: string, carry?: { request: Request; cookies: readonly string[] }): Response {
  const headers = new Headers({ location: path, "cache-control": "no-store" });
  const secure = carry?.request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim() === "https";
  for (const cookie of carry?.cookies ?? [])
    headers.append("set-cookie", secure && !/;\s*secure(?:;|$)/i.test(cookie) ? `${cookie}; Secure` : cookie);
  return new Response(null, { status: 303, headers });
}
