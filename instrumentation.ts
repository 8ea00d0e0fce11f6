export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] !== "nodejs" || process.env["NEXT_PHASE"] === "phase-production-build") return;
  const { listenForAnnouncements } = await import("./lib/server/cache-listener");
  listenForAnnouncements();
  const [{ removeLeftovers }, { serverEnv }] = await Promise.all([
    import("./lib/server/housekeeping"),
    import("./lib/server/env"),
  ]);
  await removeLeftovers(serverEnv().dataDir);
}
