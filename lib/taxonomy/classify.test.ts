import { describe, expect, it } from "vitest";
import type { Frame } from "@/lib/contract/result";
import { properties } from "@/lib/contract/vocabulary";
import { type Classified, classify, isAssertion, isCommunicationFailure } from "./classify";
import { failureTypes, rulesVersion, typeOfProperty } from "./failure-types";

const frame = (origin: Frame["origin"], name = "f"): Frame => ({
  file: "x.py",
  line: 1,
  function: name,
  origin,
  code: null,
});

const failed = (
  type: string,
  message: string,
  more: Partial<NonNullable<Classified["failure"]>> = {},
): NonNullable<Classified["failure"]> => ({
  exceptionType: type,
  mro: [type, "Exception", "BaseException"],
  message,
  frames: [frame("test"), frame("project")],
  activeCheck: null,
  ...more,
});

const typeOf = (input: Partial<Classified>) => {
  const label = classify({ status: "error", failure: null, property: "value", ...input });
  return label && `${label.type} by ${label.rule}`;
};

describe("the rules", () => {
  it("label nothing that passed", () => {
    expect(classify({ status: "passed", failure: null, property: "value" })).toBeNull();
  });

  it("call crashes, hangs and missing outcomes structural, with a tag to regroup by", () => {
    expect(classify({ status: "crashed", failure: null, property: "value" })).toEqual({
      class: "structural",
      type: "execution-api",
      rule: "crash",
      rulesVersion,
      tags: ["crash"],
      confidence: "certain",
      evidence: { field: "status", index: null, from: 0, to: 7 },
    });
    expect(typeOf({ status: "hung" })).toBe("execution-api by hang");
    expect(typeOf({ status: "not-run" })).toBe("execution-api by no-outcome");
    expect(typeOf({ status: "skipped", failure: failed("Skipped", "no") })).toBe("execution-api by no-outcome");
    const killed = failed("", "ended by SIGKILL; the launch was out of memory (limit 2048 MB)", {
      exceptionType: null,
      mro: [],
    });
    expect(classify({ status: "crashed", failure: killed, property: "value" })?.tags).toEqual(["crash", "oom"]);
  });

  it.each(properties)("label an assertion by the check that was active, here %s", (property) => {
    const failure = failed("AssertionError", "assert 1 == 2", { frames: [frame("probe")], activeCheck: property });
    expect(typeOf({ status: "failed", failure, property: "value" })).toBe(
      `${typeOfProperty[property].type} by assertion-active-check`,
    );
  });

  it("fall back on the property that the test declares", () => {
    const failure = failed("AssertionError", "assert 1 == 2", { frames: [frame("test"), frame("other")] });
    expect(typeOf({ status: "failed", failure, property: "condition" })).toBe(
      "condition-specific by assertion-declared-property",
    );
  });

  it("call an assertion of the product's own code an exception, typed by its message", () => {
    const failure = failed("AssertionError", "size mismatch: expected 3, got 4", { activeCheck: "value" });
    expect(isAssertion(failure)).toBe(false);
    expect(typeOf({ failure })).toBe("shape-layout-dtype by exception-shape");
  });

  it.each([
    ["RuntimeError", "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"],
    ["RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"],
    ["RuntimeError", "expected scalar type Half but found Float"],
    ["ValueError", "operands could not be broadcast together with shapes (2,) (3,)"],
    ["RuntimeError", "shape '[2, 2]' is invalid for input of size 3"],
  ])("call %s: %s a matter of shape", (type, message) => {
    expect(typeOf({ failure: failed(type, message) })).toBe("shape-layout-dtype by exception-shape");
  });

  it("call what concerns carried state by its message or by where it was raised", () => {
    expect(typeOf({ failure: failed("RuntimeError", "Missing key(s) in state_dict: 'w'") })).toBe(
      "state-lifecycle by exception-state-dict",
    );
    const lost = failed("KeyError", "'momentum'", { frames: [frame("test"), frame("project", "Sgd.load_state_dict")] });
    expect(typeOf({ failure: lost })).toBe("state-lifecycle by exception-state");
    expect(typeOf({ failure: failed("KeyError", "'x'") })).toBe("execution-api by exception");
  });

  it("call memory, interfaces and lost peers execution, each with its tag", () => {
    const tags = (type: string, message: string) =>
      classify({ status: "error", failure: failed(type, message), property: "value" })?.tags;
    expect(tags("torch.cuda.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2 GiB")).toEqual(["oom"]);
    expect(tags("ImportError", "cannot import name 'x'")).toEqual(["interface"]);
    expect(tags("AttributeError", "'State' object has no attribute 'shape'")).toEqual(["interface"]);
    expect(tags("tinyfleet.comm.PeerLost", "rank 1 is gone")).toEqual(["communication"]);
  });

  it("call a record that holds nothing or contradicts itself unclassified", () => {
    const nothing = failed("", " ", { exceptionType: null, mro: [], frames: [] });
    expect(typeOf({ failure: nothing })).toBe("unclassified by no-record");
    expect(typeOf({ status: "failed", failure: null })).toBe("unclassified by no-record");
    expect(typeOf({ failure: { ...nothing, message: "<message could not be made: TypeError>" } })).toBe(
      "unclassified by no-record",
    );
    expect(typeOf({ failure: failed("ValueError", "x", { mro: ["KeyError", "Exception"] }) })).toBe(
      "unclassified by no-record",
    );
    expect(typeOf({ failure: { ...nothing, exceptionType: "ValueError" } })).toBe("execution-api by exception");
  });

  it("call an assertion on import a collection failure, and one of a test's body not", () => {
    const asserted = (name: string) => failed("AssertionError", "too old", { frames: [frame("test", name)] });
    expect(typeOf({ failure: asserted("<module>") })).toBe("execution-api by assertion-on-import");
    expect(typeOf({ status: "failed", failure: asserted("test_it") })).toBe("value by assertion-declared-property");
    // a program that is a test
    expect(typeOf({ status: "failed", failure: asserted("<module>") })).toBe("value by assertion-declared-property");
  });

  it("decide alike with and without the name of the builtin module", () => {
    const mro = ["KeyError", "LookupError", "Exception", "BaseException"];
    const more = { mro, frames: [frame("test"), frame("project", "load_state_dict")] };
    const plain = failed("KeyError", "'step'", more);
    const prefixed = failed("builtins.KeyError", "'step'", { ...more, mro: mro.map((name) => `builtins.${name}`) });
    expect(typeOf({ failure: prefixed })).toBe(typeOf({ failure: plain }));
    const unknown = classify({ status: "error", failure: failed("builtins.KeyError", "'x'"), property: "value" });
    expect(unknown?.evidence).toEqual({ field: "exceptionType", index: null, from: 9, to: 17 });
  });

  it("read what an error says, and not the source or the command that it quotes", () => {
    const kernel = "at 3:4:\n    a = tl.zeros((B,), dtype=tl.float16)\n    ^\n";
    expect(typeOf({ failure: failed("CompilationError", `${kernel}NameError('B is not defined')`) })).toBe(
      "execution-api by exception",
    );
    const label = classify({
      status: "error",
      failure: failed("CompilationError", `${kernel}incompatible dimensions at index 0: 4 and 8`),
      property: "value",
    });
    expect(label?.type).toBe("shape-layout-dtype");
    expect(label?.evidence?.from).toBe(kernel.length);
  });

  it.each([
    ["a", 100_000],
    ["block ", 20_000],
    ['File "a.py", line 1, in f\n', 4_000],
    ["x.Y: ", 20_000],
    ["expected got size mismatch of ", 4_000],
    ["+-+---- 1 ----\n| A.B: c\n", 4_000],
  ])("need little time for a long message of %j", (piece, times) => {
    const began = performance.now();
    for (const name of ["RuntimeError", "ExceptionGroup", "CalledProcessError"])
      classify({ status: "error", failure: failed(name, piece.repeat(times)), property: "value" });
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  it("name known types only", () => {
    const known = new Set<string>(failureTypes.map(({ type }) => type));
    expect(Object.values(typeOfProperty).every(({ type }) => known.has(type))).toBe(true);
  });
});

describe("a communication failure", () => {
  it("is known by its class or, for a bare RuntimeError, by its message", () => {
    expect(
      isCommunicationFailure(failed("ConnectionResetError", "", { mro: ["ConnectionResetError", "ConnectionError"] })),
    ).toBe(true);
    expect(isCommunicationFailure(failed("torch.distributed.DistBackendError", "NCCL error"))).toBe(true);
    const bare = failed("RuntimeError", "NCCL communicator was aborted", { mro: ["RuntimeError", "Exception"] });
    expect(isCommunicationFailure(bare)).toBe(true);
    expect(isCommunicationFailure(failed("ValueError", "connection refused"))).toBe(false);
  });
});
