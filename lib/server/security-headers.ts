/**
 * Headers of every answer. A prerendered page gets a second policy from page-cache/ that names its inline scripts by
 * hash; browsers enforce both, so `'unsafe-inline'` here holds only where there is no second one (see README.md).
 */
export function pageHeaders(options: { development: boolean }): { key: string; value: string }[] {
  const policy = {
    "default-src": ["'none'"],
    "script-src": ["'self'", "'unsafe-inline'", ...(options.development ? ["'unsafe-eval'"] : [])],
    "style-src": ["'self'", ...(options.development ? ["'unsafe-inline'"] : [])],
    "img-src": ["'self'", "data:", "blob:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'", ...(options.development ? ["ws:"] : [])],
    "manifest-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
  };
  return [
    {
      key: "Content-Security-Policy",
      value: Object.entries(policy)
        .map(([directive, sources]) => `${directive} ${sources.join(" ")}`)
        .join("; "),
    },
    { key: "X-Content-Type-Options", value: "nosniff" },
    { key: "X-Frame-Options", value: "DENY" },
    { key: "Referrer-Policy", value: "strict-origin-when-cross-origin" },
    { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
    { key: "Permissions-Policy", value: "camera=(), microphone=(), geolocation=(), payment=()" },
  ];
}

/** What replaces the policy of pages where data is given out, evidence above all: a browser runs nothing of it. */
export const dataPolicy = {
  key: "Content-Security-Policy",
  value: "default-src 'none'; frame-ancestors 'none'; sandbox",
};

/** What lets pages of every origin read the public interface. It knows no cookies, so there is nothing to steal by it. */
export const openHeaders = [
  { key: "Access-Control-Allow-Origin", value: "*" },
  { key: "Access-Control-Allow-Methods", value: "GET, HEAD, OPTIONS" },
  { key: "Access-Control-Allow-Headers", value: "If-None-Match, Range" },
  { key: "Access-Control-Expose-Headers", value: "ETag, Content-Length, Content-Range, Content-Disposition" },
  { key: "Access-Control-Max-Age", value: "86400" },
];

/** Where they stand. */
export const openPaths = ["/api/v1/:path*", "/log/:path*", "/.well-known/:path*", "/feed.xml"];

/** Where data is given out, as sources of `next.config.ts`. */
export const dataPaths = [
  "/api/:path*",
  "/log/:path*",
  "/.well-known/:path*",
  "/healthz",
  "/badge/:path*",
  "/og/:path*",
  "/feed.xml",
];
