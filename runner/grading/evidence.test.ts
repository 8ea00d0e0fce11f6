import { describe, expect, it } from "vitest";
import type { FailureDetail } from "@/lib/contract/result";
import { attachEvidence, EvidenceParts, type Judged, terminateMessage } from "./evidence";

const failure = (exceptionType: string | null): FailureDetail => ({
  phase: "call",
  exceptionType,
  mro: exceptionType === null ? [] : [exceptionType, "Exception", "BaseException"],
  message: "",
  frames: [],
  activeCheck: null,
  secondaryOf: null,
});

const part = (name: string, data: string | Buffer, index = 0) => ({
  event: "evidence" as const,
  time: 0,
  rank: 1,
  name,
  part: index,
  bytes: data.length,
  data: Buffer.from(data).toString("base64"),
});

const errorFile = JSON.stringify({
  message: { message: "KeyError: 'w'", extraInfo: { py_callstack: "Traceback\n  File x\nKeyError: 'w'\n" } },
});

describe("parts of evidence", () => {
  it("make whole files, and a later hand-over replaces an earlier one", () => {
    const parts = new EvidenceParts();
    parts.take(part("error.json", "{"));
    parts.take(part("error.json", errorFile.slice(0, 10)));
    parts.take(part("error.json", errorFile.slice(10), 1));
    parts.take(part("nccl.log", "x NCCL INFO a\nx NCCL WARN peer closed\n"));
    parts.take(part("anything-else", "x"));
    const files = parts.files();
    expect(files.map(({ kind, name, text }) => [kind, name, text.length])).toEqual([
      ["torch-error-file", "error.json", errorFile.length],
      ["nccl-log", "nccl.log", 38],
    ]);
    expect(files[0]?.excerpt).toBe("KeyError: 'w'\nTraceback\n  File x\nKeyError: 'w'");
    expect(files[1]?.excerpt).toBe("x NCCL WARN peer closed");
  });

  it("of a dump that cannot be read say so and hold nothing of it", () => {
    const parts = new EvidenceParts();
    parts.take(part("flight-recorder", "cos\nsystem\n."));
    expect(parts.files()[0]).toMatchObject({ kind: "flight-recorder", name: "flight-recorder.json" });
    expect(parts.files()[0]?.excerpt).toMatch(/^a dump of 12 bytes that was not read: opcode 0x63 /);
  });
});

describe("evidence", () => {
  const files = (() => {
    const parts = new EvidenceParts();
    parts.take(part("error.json", errorFile));
    parts.take(part("nccl.log", "NCCL WARN peer closed"));
    parts.take(part("flight-recorder", "}."));
    return parts.files();
  })();

  it("stands beside the failure that it explains, on its own rank", () => {
    const judged: Judged[] = [
      { rank: 0, status: "error", failure: failure("KeyError"), failedAt: 9 },
      { rank: 1, status: "error", failure: failure("KeyError"), failedAt: 1 },
      { rank: 1, status: "error", failure: failure("ValueError"), failedAt: 2 },
      { rank: 1, status: "hung", failure: failure(null), failedAt: 3 },
    ];
    attachEvidence(4, judged, files, (rank) =>
      rank === 1 ? 'noise\nThread 0x00007f (most recent call first):\n  File "x.py", line 1 in f\n' : "",
    );
    expect(judged.map((entry) => entry.failure?.evidence?.map(({ kind }) => kind) ?? [])).toEqual([
      [],
      ["torch-error-file"],
      [],
      ["nccl-log", "flight-recorder", "stack-dump"],
    ]);
    expect(judged[1]?.failure?.evidence?.[0]?.file).toBe("ranks/launch-4/rank-1/error.json");
  });

  it("of waiting stands beside nothing where the rank did not wait", () => {
    const judged: Judged[] = [{ rank: 1, status: "failed", failure: failure("AssertionError"), failedAt: 1 }];
    attachEvidence(0, judged, files, () => "");
    expect(judged[0]?.failure?.evidence?.map(({ kind }) => kind)).toEqual(["torch-error-file"]);
  });

  it("of an aborted process is what the runtime said last", () => {
    const stderr =
      "noise\nterminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE)\n";
    expect(terminateMessage(stderr)).toContain("OpType=ALLREDUCE");
    expect(terminateMessage("nothing of that kind")).toBeNull();
  });
});
