/**
 * Headers of every answer. Scripts come from this origin only; `'unsafe-inline'` for them is what prerendered pages
 * cost (see README.md). Routes that give out evidence replace the policy by one that allows nothing.
 */
export function pageHeaders(options: { development: boolean }): { key: string; value: string }[] {
  const policy = {
    "default-src": ["'none'"],
    "script-src": ["'self'", "'unsafe-inline'", ...(options.development ? ["'unsafe-eval'"] : [])],
    "style-src": ["'self'", "'unsafe-inline'"],
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
