import "server-only";
import { serverEnv } from "./env";

const hostPattern = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::\d{1,5})?$/i;

/**
 * Address of the site without a slash at its end, for documents that need whole addresses: the setting, else what the
 * request was sent to. A host that is none gives the address that this process listens on.
 */
export function siteUrl(request: Request): string {
  const configured = serverEnv().siteUrl;
  if (configured) return configured;
  const host = request.headers.get("host") ?? "";
  const { origin, protocol } = new URL(request.url);
  if (!hostPattern.test(host)) return origin;
  const forwarded = request.headers.get("x-forwarded-proto");
  return `${forwarded === "https" || forwarded === "http" ? forwarded : protocol.slice(0, -1)}://${host}`;
}
