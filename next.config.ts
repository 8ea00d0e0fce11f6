import { fileURLToPath } from "node:url";
import type { NextConfig } from "next";
import { dataPaths, dataPolicy, openHeaders, openPaths, pageHeaders } from "./lib/server/security-headers";

const development = process.env.NODE_ENV === "development";

const config: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  reactStrictMode: true,
  poweredByHeader: false,
  typedRoutes: true,
  // `npm run check` checks the types, of more files than a build sees, and not a second time at each build.
  typescript: { ignoreBuildErrors: true },
  // Two development servers of one checkout need a folder each.
  distDir: process.env["NEXT_DIST_DIR"] ?? ".next",
  serverExternalPackages: ["pino", "postgres"],
  // Pages in development are never cached, and their inline scripts have other forms.
  ...(development
    ? {}
    : { cacheHandler: fileURLToPath(new URL("./lib/server/page-cache/handler.mjs", import.meta.url)) }),
  headers: async () => [
    { source: "/:path*", headers: pageHeaders({ development }) },
    ...dataPaths.map((source) => ({ source, headers: [dataPolicy] })),
    ...openPaths.map((source) => ({ source, headers: openHeaders })),
  ],
};

export default config;
