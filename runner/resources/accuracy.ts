import type { OutsideMeter } from "./limits";

/**
 * How far each meter's values may be off, and why. The share of headers was measured over TCP on loopback, 16 MiB in
 * messages of 16 KiB to 1 MiB: 0.1 to 0.3 %; to 1.2 % on a machine so loaded that segments were sent again.
 */
export const accuracyOf: Record<OutsideMeter, string> = {
  "wall-clock":
    "the grader's monotonic clock, from letting all ranks into the call until the slowest rank's report: a few milliseconds are its own; base or gold ran in turn with it on this host",
  "gpu-memory":
    "NVML every 100 ms and as the call ends, less what the GPU held before the launch: shorter peaks are missed; CUDA contexts and what the allocator keeps cached are counted",
  "host-memory":
    "peak of the launch's control group from its start to its end: start-up, page cache and tmpfs are counted",
  transport:
    "bytes that the kernel received on the launch's own loopback interface during the call: headers, acknowledgements and segments sent again (0.1 to 0.3 %, on a loaded host to 1.2 %) and a store's traffic are counted; Unix sockets and shared memory are not seen",
  nvlink:
    "NVML's counters of the NVLink payload that the launch's GPUs sent, read every 100 ms: what other work on these GPUs sends is counted, and 100 ms before and after the call may be",
  nccl: "message sizes of collectives as NCCL's profiler plugin logged them inside the launch: no algorithm's factor, and no store or socket traffic",
};

/** Host memory where no control group can be made. */
export const accuracyOfUsage =
  "sum of the ranks' greatest resident sets from start to end: shared pages are counted for each rank, processes that a rank started are not";
