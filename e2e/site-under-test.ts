/** Runs before all specs of pages, which need a site that is filled: says how to get one where none is named. */
export default async function requireSite(): Promise<void> {
  const address = process.env["INFRADEV_BASE_URL"];
  if (!address) {
    throw new Error(
      "INFRADEV_BASE_URL is not set: start a site that holds the published data and the graded reference sets ('npm run demo'), and name its address",
    );
  }
  const answer = await fetch(new URL("/healthz", address)).catch(() => null);
  if (!answer?.ok) {
    throw new Error(
      `INFRADEV_BASE_URL: ${address}/healthz ${answer ? `answers with status ${answer.status}` : "does not answer"}: start the site ('npm run demo'), or name the address where it runs`,
    );
  }
}
