import { describe, expect, it } from "vitest";
import { unwrapFailure } from "./unwrap";

const carrying = (type: string, message: string) =>
  unwrapFailure({ exceptionType: type, mro: [type, "Exception"], message, frames: [], activeCheck: null });

const lost = "ConnectionResetError: [Errno 104] Connection reset by peer";

describe("what carried a failure is taken away", () => {
  it.each([
    ["lines", `2 of 2 failed (2 sub-exceptions)\n[rank0] ${lost}\n[rank1] ValueError: bad rows`],
    [
      "rulers",
      `ranks failed (2 sub-exceptions)\n+-+---------------- 1 ----------------\n  | ${lost}\n  +---------------- 2 ----------------\n  | ValueError: bad rows\n  +------------------------------------`,
    ],
  ])("a group's first member that is no lost connection, by %s", (_form, message) => {
    expect(carrying("ExceptionGroup", message)).toMatchObject({ exceptionType: "ValueError", message: "bad rows" });
  });

  it("a group of lost connections only is its first one", () => {
    const message = `2 failed\n  - ${lost}\n  - RuntimeError: Connection closed by peer`;
    expect(carrying("ExceptionGroup", message).exceptionType).toBe("ConnectionResetError");
  });

  it("the worker's traceback before the launcher's own", () => {
    const output = [
      "Command 'torchrun w.py' returned non-zero exit status 1.",
      "[rank0]: Traceback (most recent call last):",
      '[rank0]:   File "/w/repo/w.py", line 5, in main',
      "[rank0]:     y = a @ b",
      "[rank0]: RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
      "Traceback (most recent call last):",
      '  File "/v/lib/python3.12/site-packages/torch/distributed/launcher/api.py", line 138, in launch_agent',
      "    raise ChildFailedError(",
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: w.py FAILED",
    ].join("\n");
    const inner = carrying("subprocess.CalledProcessError", output);
    expect(inner.exceptionType).toBe("RuntimeError");
    expect(output.slice(inner.carriedAt ?? 0)).toMatch(/^mat1 and mat2/);
    expect(inner.frames.map(({ function: name }) => name)).toEqual(["main"]);
  });

  it("torch's distributed checkpoint and its compiler", () => {
    const planner =
      'CheckpointException ranks:dict_keys([0])\nTraceback (most recent call last): (RANK 0)\n  File "/w/a.py", line 3, in load\n    x()\nOSError: disk\n';
    expect(carrying("torch.distributed.checkpoint.api.CheckpointException", planner)).toMatchObject({
      exceptionType: "OSError",
      message: "disk",
    });
    const compiler =
      "backend='inductor' raised:\nNotImplementedError: View\n\nfrom user code:\n   File \"/w/a.py\", line 3, in f\n    return y";
    expect(carrying("torch._dynamo.exc.BackendCompilerFailed", compiler)).toMatchObject({
      exceptionType: "NotImplementedError",
      message: "View",
    });
  });

  it("leaves a carrier that names no exception, and drops the name of the builtin module", () => {
    expect(carrying("ExceptionGroup", "failed (2 sub-exceptions)").carriedAt).toBeNull();
    expect(carrying("builtins.KeyError", "'x'").exceptionType).toBe("KeyError");
  });
});
