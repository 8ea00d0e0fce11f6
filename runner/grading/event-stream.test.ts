import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { EventStream } from "./event-stream";
import { createFrameMapper } from "./frames";
import { RankRecord } from "./rank-record";

const plan = { roots: [], select: [], rank: 0 };

/** Writes lines as the plugin does. */
function pluginOf(stream: EventStream): (event: object, seq?: number) => Buffer {
  const { key } = JSON.parse(stream.opening(plan));
  let next = 0;
  return (event, seq = next++) => {
    const body = JSON.stringify({ seq, time: 1, mono: 1, ...event });
    const mac = createHmac("sha256", Buffer.from(key, "hex")).update(`${seq} `).update(body).digest("hex");
    return Buffer.from(`${mac.slice(0, 32)} ${body}`);
  };
}

const start = { event: "test_start", id: "tests/a.py::test_a" };

describe("an event stream", () => {
  it("accepts what the plugin wrote, in its order", () => {
    const stream = new EventStream();
    const write = pluginOf(stream);
    expect(stream.accept(write(start))).toMatchObject(start);
    expect(stream.accept(write({ event: "session_finish", exitstatus: 0 }))).toMatchObject({ exitstatus: 0 });
    expect(stream.forged).toEqual([]);
    expect(stream.lines).toHaveLength(2);
  });

  it("cuts what is longer here than where it was cut before, and refuses nothing for it", () => {
    const stream = new EventStream();
    const code = "\u{1f600}".repeat(400);
    const frame = { file: "a.py", line: 1, function: "f", code };
    const exception = { type: "E", mro: ["E"], message: "", frames: [frame], check: null };
    const event = { event: "collect_error", path: "a.py", outcome: "failed", exception };
    expect(stream.accept(pluginOf(stream)(event))).toMatchObject({
      exception: { frames: [{ code: code.slice(0, 400) }] },
    });
    expect(stream.forged).toEqual([]);
  });

  it("refuses a line without the key, one that is repeated, changed, of another stream, or no event", () => {
    const stream = new EventStream();
    const write = pluginOf(stream);
    const first = write(start);
    expect(stream.accept(first)).not.toBeNull();
    expect(stream.accept(first)).toBeNull();
    const changed = Buffer.from(write(start, 1).toString().replace("test_a", "test_b"));
    expect(stream.accept(changed)).toBeNull();
    expect(stream.accept(pluginOf(new EventStream())(start, 1))).toBeNull();
    expect(stream.accept(Buffer.from(JSON.stringify(start)))).toBeNull();
    expect(stream.accept(Buffer.alloc(0))).toBeNull();
    expect(stream.forged).toHaveLength(5);
    expect(stream.lines).toHaveLength(1);
    expect(stream.accept(write({ event: "unknown" }, 1))).toBeNull();
  });
});

describe("a rank's record", () => {
  const record = () =>
    new RankRecord(
      0,
      0,
      createFrameMapper({ repository: "/grade/repo", probes: "/grade/probes", isTest: () => false }),
    );
  const base = { seq: 0, time: 1, mono: 1 };
  const report = (phase: "setup" | "call" | "teardown", outcome: "passed" | "failed" | "skipped" = "passed") =>
    ({
      ...base,
      event: "report",
      id: "a",
      phase,
      outcome,
      duration: 0.5,
      exception: null,
      message: null,
      xfail: false,
      peak_rss_kb: 1,
    }) as const;
  const started = () => {
    const rank = record();
    rank.apply({ ...base, event: "collected", ids: ["a"], extra: [] }, 1);
    rank.apply({ ...base, event: "test_start", id: "a" }, 2);
    return rank;
  };

  it("has no outcome of a test before its tear-down was reported", () => {
    const rank = started();
    rank.apply(report("setup"), 3);
    rank.apply(report("call"), 4);
    expect(rank.outcomeOf("a")).toBeNull();
    rank.apply(report("teardown"), 5);
    expect(rank.outcomeOf("a")).toMatchObject({ status: "passed", durationMs: 1500 });
  });

  it("has passed only where every phase and every part of the call passed", () => {
    const skipped = started();
    for (const event of [report("setup", "skipped"), report("teardown")]) skipped.apply(event, 3);
    expect(skipped.outcomeOf("a")?.status).toBe("skipped");
    const withoutCall = started();
    for (const event of [report("setup"), report("teardown")]) withoutCall.apply(event, 3);
    expect(withoutCall.outcomeOf("a")?.status).toBe("error");
    const part = started();
    for (const event of [report("setup"), report("call", "failed"), report("call"), report("teardown")])
      part.apply(event, 3);
    expect(part.outcomeOf("a")?.status).toBe("failed");
    const tearDown = started();
    for (const event of [report("setup"), report("call"), report("teardown", "failed")]) tearDown.apply(event, 3);
    expect(tearDown.outcomeOf("a")?.status).toBe("error");
  });

  it("notes reports that the plugin cannot have made", () => {
    const rank = started();
    for (const event of [report("setup"), report("call"), report("teardown"), report("call")]) rank.apply(event, 3);
    rank.apply({ ...base, event: "test_start", id: "a" }, 4);
    rank.apply({ ...report("call"), id: "b" }, 5);
    expect(rank.irregular).toHaveLength(3);
  });
});
