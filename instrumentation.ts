export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { listenForAnnouncements } = await import("./lib/server/cache-listener");
  listenForAnnouncements();
}
