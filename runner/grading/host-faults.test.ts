import { describe, expect, it } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import type { FailureDetail } from "@/lib/contract/result";
import type { ManifestTest } from "@/lib/contract/task";
import type { Gpu } from "../gpus/discover";
import { controlByGold, faultsBetween, type HostSnapshot, looksLikeHostFault, suspectsOf } from "./host-faults";
import type { TimedOutcome } from "./launch";

const gpu = (changed: Partial<Gpu> = {}): Gpu => ({
  index: 0,
  uuid: "GPU-a",
  minor: 0,
  model: "NVIDIA H200",
  memoryMb: 143_771,
  memoryUsedMb: 1,
  driver: "580.65.06",
  eccUncorrected: 0,
  mig: "disabled",
  pciBus: "00000000:1B:00.0",
  processes: [],
  devicePaths: ["/dev/nvidia0"],
  numaNode: 0,
  ...changed,
});
const gib = 1024 ** 3;
const snapshot = (changed: Partial<HostSnapshot> = {}): HostSnapshot => ({
  workFreeBytes: 10 * gib,
  sharedFreeBytes: 10 * gib,
  gpus: new Map([["GPU-a", gpu()]]),
  driverProblem: null,
  unsettled: [],
  xids: [],
  ...changed,
});
const codes = (before: HostSnapshot | null, after: HostSnapshot, sandboxed = true): string[] =>
  faultsBetween(before, after, { sandboxed }).map(({ code }) => code);
const xid = (number: number, bus = "0000:1b:00"): string =>
  `[ 1234.567890] NVRM: Xid (PCI:${bus}): ${number}, pid='<unknown>', name=<unknown>, text`;

describe("evidence of the host", () => {
  it("is silent where nothing changed", () => {
    expect(codes(null, snapshot())).toEqual([]);
    expect(codes(snapshot(), snapshot())).toEqual([]);
  });

  it("tells lost GPUs, ECC errors, a GPU that stays busy, and a driver of two versions", () => {
    const fault = (code: "unreadable" | "leftover-memory") => ({ code, message: "seen", remedy: "mend" });
    const lost = snapshot({ gpus: new Map(), unsettled: [{ uuid: "GPU-a", fault: fault("unreadable") }] });
    expect(codes(snapshot(), lost)).toEqual(["host.gpu-lost"]);
    const busy = snapshot({ unsettled: [{ uuid: "GPU-a", fault: fault("leftover-memory") }] });
    expect(codes(snapshot(), busy)).toEqual(["host.gpu-not-free"]);
    const worn = (eccUncorrected: number) => snapshot({ gpus: new Map([["GPU-a", gpu({ eccUncorrected })]]) });
    expect(codes(worn(0), worn(2))).toEqual(["host.gpu-ecc"]);
    const mismatch = snapshot({
      gpus: new Map(),
      driverProblem: { code: "gpu.driver-mismatch", message: "two versions" },
    });
    expect(codes(snapshot(), mismatch)).toEqual(["host.driver-mismatch"]);
  });

  it("counts hardware Xids of the granted GPUs only, and only new ones", () => {
    const seen = (...xids: string[]) => snapshot({ xids });
    expect(codes(snapshot(), seen(xid(79)))).toEqual(["host.gpu-error"]);
    expect(codes(seen(xid(79)), seen(xid(79)))).toEqual([]);
    // A program's own mistakes, and another GPU.
    expect(codes(snapshot(), seen(xid(13), xid(31), xid(43), xid(79, "0000:5e:00")))).toEqual([]);
    expect(codes(snapshot({ xids: null }), snapshot({ xids: null }))).toEqual([]);
  });

  it("takes a full disk for the host's, unless a launch without a sandbox may have filled it", () => {
    const full = snapshot({ workFreeBytes: 1024 });
    expect(codes(snapshot(), full)).toEqual(["host.disk-full"]);
    expect(codes(null, full, false)).toEqual(["host.disk-full"]);
    expect(codes(snapshot(), full, false)).toEqual([]);
    const narrow = snapshot({ sharedFreeBytes: 1024 });
    expect(codes(null, narrow)).toEqual([]);
    expect(codes(null, narrow, false)).toEqual(["host.shared-memory"]);
    expect(codes(null, { ...narrow, gpus: null }, false)).toEqual([]);
  });
});

const failure = (message: string): FailureDetail => ({
  phase: "call",
  exceptionType: "RuntimeError",
  mro: [],
  message,
  frames: [],
  activeCheck: null,
  secondaryOf: null,
});
const outcome = (status: "passed" | "error", message = ""): TimedOutcome => ({
  outcome: {
    rank: 0,
    status,
    launch: 0,
    startedAt: null,
    durationMs: 1,
    failure: status === "passed" ? null : failure(message),
    logLine: null,
  },
  failedAt: null,
});
const test = (id: string, required = true, kind: ManifestTest["kind"] = "official"): ManifestTest => ({
  id,
  kind,
  expectation: "f2p",
  group: "g",
  property: "value",
  condition: null,
  ranks: "all",
  needs: { ranks: 1, gpus: 0 },
  required,
  notRequiredReason: null,
  requirement: null,
  limit: null,
});

describe("a failure by its message alone", () => {
  it.each([
    "OSError: [Errno 28] No space left on device: '/tmp/x'",
    "CUDA error: uncorrectable ECC error encountered",
    "CUDA error: device lost",
    "RuntimeError: No CUDA GPUs are available",
    "NCCL error in: ProcessGroupNCCL.cpp:94, unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "Error while creating shared memory segment /dev/shm/nccl-KxRzPt (size 9637888)",
    "CUDA driver version is insufficient for CUDA runtime version",
    "the rank's process ended by SIGBUS before it had reported all its tests",
  ])("is worth a control run: %s", (message) => {
    expect(looksLikeHostFault(failure(message))).toBe(true);
  });

  it.each([
    "assert 1 == 2",
    "CUDA error: an illegal memory access was encountered",
    "CUDA error: device-side assert triggered",
    "CUDA out of memory. Tried to allocate 20.00 GiB",
    "The size of tensor a (3) must match the size of tensor b (4)",
    "the rank's process ended by SIGSEGV before it had reported all its tests",
  ])("is the candidate's: %s", (message) => {
    expect(looksLikeHostFault(failure(message))).toBe(false);
  });
});

describe("a control run of gold", () => {
  const outcomes = new Map([["a", [outcome("error", "CUDA error: device lost")]]]);
  const hasPassed = (_: ManifestTest, ranks: readonly TimedOutcome[] | undefined) =>
    ranks?.every((each) => each.outcome.status === "passed") ?? false;
  const control = (gold: Map<string, TimedOutcome[]> | null, probe = false) =>
    controlByGold({
      suspects: suspectsOf([test("a", true, probe ? "probe" : "official"), test("b", false)], outcomes),
      probesHidden: probe,
      hasPassed,
      runGold: async () => gold,
    });

  it("is asked for required tests only", () => {
    expect(suspectsOf([test("a")], outcomes)).toHaveLength(1);
    expect(suspectsOf([test("a", false)], outcomes)).toEqual([]);
    expect(suspectsOf([test("a")], new Map([["a", [outcome("error", "assert 1 == 2")]]]))).toEqual([]);
  });

  it("that passes leaves the failure with the candidate", async () => {
    expect(await control(new Map([["a", [outcome("passed")]]]))).toBeNull();
  });

  it("that fails too makes it the host's, with both messages", async () => {
    const fault = await control(new Map([["a", [outcome("error", "CUDA error: unknown")]]]));
    expect(fault).toEqual({
      code: "host.control-failed",
      message: expect.any(String),
      evidence: ["a: candidate: CUDA error: device lost", "a: gold: CUDA error: unknown"],
    });
    expect((await control(new Map()))?.evidence).toContain("a: gold: no outcome");
  });

  it("says what NCCL gives as its last error", async () => {
    const lacking = "Error while creating shared memory segment /dev/shm/nccl-KxRzPt (size 9637888)";
    const message = `NCCL error in: NCCLUtils.cpp:94, unhandled system error\nncclSystemError: a call failed.\nLast error:\n${lacking}`;
    const fault = await control(new Map([["a", [outcome("error", message)]]]));
    expect(fault?.evidence[1]).toBe(`a: gold: NCCL error in: NCCLUtils.cpp:94, unhandled system error: ${lacking}`);
  });

  it("says nothing of what a hidden probe prints", async () => {
    const fault = await control(new Map([["a", [outcome("error", "secret")]]]), true);
    expect(fault?.evidence).toEqual(["a: fails with the candidate's patch and with gold's"]);
  });

  it("decides nothing where the grading ended for another reason", async () => {
    expect(await control(null)).toBeNull();
  });

  it("that cannot be made for want of gold leaves the failure with the candidate", async () => {
    const suspects = suspectsOf([test("a")], outcomes);
    const failing = (error: Error) =>
      controlByGold({ suspects, probesHidden: false, hasPassed, runGold: () => Promise.reject(error) });
    const absent = new InfraDevError("unavailable", { code: "task.reference-absent", message: "no gold" });
    expect(await failing(absent)).toBeNull();
    await expect(failing(new Error("a defect"))).rejects.toThrow("a defect");
  });
});
