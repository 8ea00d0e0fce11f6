import { type Discovery, discoverGpus } from "./discover";
import { faultsOf, type GpuFault } from "./health";

export type Unsettled = { uuid: string; fault: GpuFault };

/** The driver frees a process's memory some time after its end: up to seconds, for many gigabytes. */
const defaultLimitMs = 20_000;
const pollMs = 500;

/**
 * Waits until no process holds these GPUs and their memory is back, for `limitMs` at most. Gives the last reading, and
 * which of them are not as they must be; one that the driver no longer lists is `unreadable`.
 */
export async function settleGpus(
  uuids: readonly string[],
  options: { limitMs?: number; discover?: () => Promise<Discovery> } = {},
): Promise<{ discovery: Discovery; unsettled: Unsettled[] }> {
  const deadline = performance.now() + (options.limitMs ?? defaultLimitMs);
  for (;;) {
    const discovery = await (options.discover ?? discoverGpus)();
    const unsettled = unsettledOf(uuids, discovery);
    const passing = unsettled.every(({ fault: { code } }) => code === "foreign-process" || code === "leftover-memory");
    if (unsettled.length === 0 || !passing || performance.now() >= deadline) return { discovery, unsettled };
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function unsettledOf(uuids: readonly string[], discovery: Discovery): Unsettled[] {
  return uuids.flatMap((uuid) => {
    const gpu = discovery.state === "ok" ? discovery.inventory.gpus.find((each) => each.uuid === uuid) : undefined;
    if (gpu !== undefined) {
      const [fault] = faultsOf(gpu);
      return fault === undefined ? [] : [{ uuid, fault }];
    }
    const said =
      discovery.state === "failed"
        ? discovery.problem.message
        : discovery.state === "ok"
          ? (discovery.inventory.unreadable[0]?.message ?? "the driver no longer lists it")
          : "nvidia-smi is gone";
    const remedy = "reset the GPU or reboot; look at dmesg for lines of NVRM: Xid";
    return [{ uuid, fault: { code: "unreadable", message: `${uuid}: ${said}`, remedy } as const }];
  });
}
