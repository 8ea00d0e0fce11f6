import type { NextConfig } from "next";
import { pageHeaders } from "./lib/server/security-headers";

const development = process.env.NODE_ENV === "development";

const config: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  reactStrictMode: true,
  poweredByHeader: false,
  typedRoutes: true,
  // Two development servers of one checkout need a folder each.
  distDir: process.env["NEXT_DIST_DIR"] ?? ".next",
  serverExternalPackages: ["pino", "postgres"],
  headers: async () => [{ source: "/:path*", headers: pageHeaders({ development }) }],
};

export default config;
