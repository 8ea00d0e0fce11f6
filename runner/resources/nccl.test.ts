import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProfilerPlugin, pluginMount, profilerEnv, readInspector } from "./nccl";

const header = (rank: number, id = "0x7f8c496ae9f661") => ({ id, rank, n_ranks: 2, nnodes: 1 });
const metadata = {
  inspector_output_format_version: "v4.0",
  git_rev: "",
  rec_mechanism: "nccl_profiler_interface",
  dump_timestamp_us: 1_748_030_377_748_202,
  hostname: "sandbox",
  pid: 12,
};
const collective = (rank: number, coll: string, sn: number, bytes: number, id?: string) =>
  JSON.stringify({
    header: header(rank, id),
    metadata,
    coll_perf: {
      coll,
      coll_sn: sn,
      coll_msg_size_bytes: bytes,
      coll_exec_time_us: 61_974,
      coll_timing_source: "kernel_gpu",
      coll_algobw_gbs: 277.2,
      coll_busbw_gbs: 485.1,
    },
  });
const transfer = (rank: number, p2p: string, sn: number, bytes: number) =>
  JSON.stringify({
    header: { ...header(rank), comm_name: "pipeline" },
    metadata: { ...metadata, inspector_output_format_version: "v5.0" },
    p2p_perf: {
      p2p,
      p2p_sn: sn,
      p2p_peer: 1 - rank,
      p2p_msg_size_bytes: bytes,
      p2p_exec_time_us: 5,
      p2p_timing_source: "kernel_gpu",
    },
  });

describe("NCCL Inspector's lines", () => {
  it("add up by communicator, rank and operation", () => {
    const rank = (at: number) =>
      [
        collective(at, "AllReduce", 1, 1000),
        collective(at, "AllReduce", 2, 500),
        collective(at, "ReduceScatter", 1, 64),
        transfer(at, at === 0 ? "Send" : "Recv", 1, 7),
        "",
      ].join("\n");
    const profile = readInspector([rank(0), rank(1)]);
    expect(profile).toMatchObject({ bytes: 2 * (1000 + 500 + 64 + 7), missing: 0, unreadable: 0 });
    expect(profile.sums).toContainEqual({
      communicator: "0x7f8c496ae9f661",
      rank: 1,
      operation: "AllReduce",
      messages: 2,
      bytes: 1500,
    });
  });

  it("are complete whether operations are numbered by kind or together", () => {
    const together = [0, 1].map((rank) =>
      [
        collective(rank, "AllReduce", 5, 1),
        collective(rank, "AllGather", 6, 1),
        collective(rank, "AllReduce", 7, 1),
      ].join("\n"),
    );
    expect(readInspector(together).missing).toBe(0);
  });

  it("show by their numbers what was lost, between two or at one rank's end", () => {
    const hole = [0, 1].map((rank) =>
      [collective(rank, "AllReduce", 1, 1), collective(rank, "AllReduce", 4, 1)].join("\n"),
    );
    expect(readInspector(hole).missing).toBe(4);
    const tail = [
      [collective(0, "AllReduce", 1, 1), collective(0, "AllReduce", 2, 1)].join("\n"),
      collective(1, "AllReduce", 1, 1),
    ];
    expect(readInspector(tail).missing).toBe(1);
  });

  it("are kept apart from lines that were cut short or are something else", () => {
    const text = [collective(0, "AllReduce", 1, 9), '{"header": {"id": "0x1"', "[]", '{"header":{}}'].join("\n");
    expect(readInspector([text])).toMatchObject({ bytes: 9, unreadable: 3 });
    expect(readInspector([])).toEqual({ sums: [], bytes: 0, missing: 0, unreadable: 0 });
  });
});

describe("NCCL's profiler plugin", () => {
  it("is what the environment names, else what the linker would find", async () => {
    const folder = await mkdtemp(join(tmpdir(), "infradev-nccl-"));
    try {
      await mkdir(join(folder, "empty"));
      await writeFile(join(folder, "libnccl-profiler-inspector.so"), "");
      await writeFile(join(folder, "libnccl-profiler-other.so"), "");
      await writeFile(join(folder, "libnccl.so"), "");
      const inspector = join(folder, "libnccl-profiler-inspector.so");
      expect(findProfilerPlugin({ NCCL_PROFILER_PLUGIN: inspector }, [])).toBe(inspector);
      expect(findProfilerPlugin({ NCCL_PROFILER_PLUGIN: "other", LD_LIBRARY_PATH: folder }, [])).toBe(
        join(folder, "libnccl-profiler-other.so"),
      );
      expect(findProfilerPlugin({}, [join(folder, "empty"), folder])).toBe(inspector);
      expect(findProfilerPlugin({ LD_LIBRARY_PATH: join(folder, "empty") }, [join(folder, "gone")])).toBeNull();
      expect(findProfilerPlugin({ NCCL_PROFILER_PLUGIN: join(folder, "gone.so") }, [folder])).toBeNull();
      expect(pluginMount(inspector)).toEqual({ hostPath: inspector, name: "libnccl-profiler.so" });
      expect(profilerEnv("/grade/libnccl-profiler.so").NCCL_PROFILER_PLUGIN).toBe("/grade/libnccl-profiler.so");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
