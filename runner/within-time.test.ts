import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { withinTime } from "./within-time";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Work without an end of its own. */
const endless = (within: AbortSignal): Promise<never> =>
  new Promise((_, reject) => within.addEventListener("abort", () => reject(within.reason)));

describe("work within a time", () => {
  it.each([
    ["alone", () => undefined],
    ["with another signal", () => new AbortController().signal],
  ])("ends when that is over, whatever garbage was collected meanwhile (%s)", async (_, signalOf) => {
    const ended = withinTime(300, signalOf(), endless).catch((error: unknown) => error);
    for (let times = 0; times < 5; times += 1) {
      await sleep(10);
      collectGarbage();
    }
    expect(await Promise.race([ended, sleep(2000, "never")])).toMatchObject({ name: "TimeoutError" });
  });

  it("ends as the other signal says, however much time there is", async () => {
    const controller = new AbortController();
    const ended = withinTime(Number.POSITIVE_INFINITY, controller.signal, endless);
    await sleep(20);
    controller.abort(new Error("stopped"));
    await expect(ended).rejects.toThrow("stopped");
    await expect(withinTime(1000, controller.signal, async (within) => within.throwIfAborted())).rejects.toThrow(
      "stopped",
    );
  });

  it("leaves no clock running behind its end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      expect(await withinTime(1000, undefined, async () => 1)).toBe(1);
      await expect(withinTime(1000, null, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
