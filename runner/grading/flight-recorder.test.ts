import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { excerptOf, readFlightRecording } from "./flight-recorder";
import { PickleError, readPlainPickle } from "./plain-pickle";

/** What torch 2.13 gave of two all-reduces on one gloo rank (`_dump_fr_trace()`), compressed. */
const recorded = [
  "eNqlU8lu1EAQnZnsISsJZGHJQhImhIw92UAIIcQBiViMhLhYQiPLsSsuKx7b5e5OFCQkTijwBxyRuPIrfAk3xBmqe2ZIQNzIHFJV",
  "/crv9avqt5U3VXegVCodQyHiLKWS28vZVq1uU9kd4jCPvCBLD+OINJQLJerhQKNSvwXUiz0mCUEE1MdJHyeFnx4J6nd7OH5lN2lA",
  "KXeC4yBrtbwkPvC6dIPc0GER0pdK0BB/vMwVm4Y5muUo8YX0ICUFCkIWkyQQyPgY6JJTcWe6AG4v5J/nI/s/+c+d60KYPU/gL9Co",
  "U2Fx2gJIZRGDoLFmlZn7uXJY8A0FjesC9rrDXPKTxCsgVAHQhDuoMXECxohJt8GpJVu59cQ6hvTY4ota+anELN2u1euWiCVs5n5w",
  "5EcgLJkVAVphLJj0QLGoi7EX1O2wlp/SZeNtEqdAU8+/jCiaNkq03JPCz3Mo6ApOus/+j1mzeUkWRVBo0qs45bxUNGOo9B0ftrJQ",
  "JfCIZplr5Jzr0MDnGN6nwMyxgCArQi8Oad4pmVXgyXJ2jbNRnRVZAEJ4UZGpnK7jsDE1hENfJdLLI7rxzr3EFYkF+KFnjL1pZtG+",
  "Di0Yms4xf3jRHee8vmPv7O1t2ff27u/u2ju05E6abetO2RNAGr3slA1hvpV3S7c6OrNcZysMGGvr5MHGadSWsGpYoiTLHlxYgDVT",
  "lXELvID16Lmlgm5/GPy0/n3g68dvs+YqcZorXs/4NW9Stck/pxfAuNg+CeVpzkfrzarR8TTJfEl32ohMyfPmjd/No+dHne67zSpy",
  "j/6AfkdAm8YnESDoyYVUc+e7WnnyQcYPkOV2Hw3Lthru9X8gzt8MY+yG2bwCZMxnVD8zZuoWVuO1BG3tPz65VjLzioXHLtP2e8Vr",
  "xC8Ip9EsFPIOYWdlcN4pI68G8iLgjXd4ExdwEZdw2akgzwVX+P8qriFb+uLzD2Mpdix0egBw3dwaNy6U2kbgJtbQaqDdwPoZtlUh",
  "SwFFO7Vf13l+mg==",
].join("");

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

describe("a pickle of plain containers", () => {
  it("is read: numbers, texts, lists, tuples, dicts and what they share", () => {
    // pickle.dumps([{"a": (1, -2, 2**40), "b": [True, None, 1.5]}, ...], protocol=2), by hand
    const pickle = bytes(
      "\x80\x02]q\x00(}q\x01(X\x01\x00\x00\x00aq\x02K\x01J\xfe\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x87q\x03X\x01\x00\x00\x00b](\x88NG\x3f\xf8\x00\x00\x00\x00\x00\x00euh\x02e.",
    );
    expect(readPlainPickle(pickle)).toEqual([
      new Map<unknown, unknown>([
        ["a", [1, -2, 2 ** 40]],
        ["b", [true, null, 1.5]],
      ]),
      "a",
    ]);
  });

  it.each([
    ["names a function and calls it", "\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00lsq\x01\x85q\x02Rq\x03."],
    ["calls a function of the stack", "\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94."],
    ["builds an object", "\x80\x02}b."],
    ["asks for a persistent object", "\x80\x02X\x01\x00\x00\x00aQ."],
    ["ends early", "\x80\x02X\xff\xff\xff\x7fabc"],
    ["recalls what it never kept", "\x80\x02h\x09."],
    ["sets an item in a number", "\x80\x02K\x01K\x02K\x03s."],
    ["has no mark", "\x80\x02]e."],
    ["is empty", ""],
  ])("that %s is refused", (_what, pickle) => {
    expect(() => readPlainPickle(bytes(pickle))).toThrow(PickleError);
  });

  it("may hold itself without end for its reader", () => {
    const pickle = bytes("\x80\x02}q\x00(X\x07\x00\x00\x00entries]q\x01h\x01aX\x09\x00\x00\x00pg_status}u.");
    expect(readFlightRecording(pickle).collectives).toHaveLength(1);
    expect(excerptOf(readFlightRecording(pickle))).toContain("under way: 1");
  });
});

describe("a flight recording", () => {
  const recording = readFlightRecording(inflateSync(Buffer.from(recorded, "base64")));

  it("of torch itself gives each collective with its place, state, sizes and caller", () => {
    expect(recording.version).toBe("2.10");
    expect(recording.status).toEqual([{ group: "0", enqueued: 2, started: -1, completed: 2 }]);
    expect(
      recording.collectives.map(({ name, sequence, inputSizes, state }) => [name, sequence, inputSizes, state]),
    ).toEqual([
      ["gloo:all_reduce", 1, "[[4]]", "scheduled"],
      ["gloo:all_reduce", 2, "[[4, 3]]", "scheduled"],
    ]);
    expect(recording.collectives[0]?.frames.length).toBeGreaterThan(0);
  });

  it("takes the state of a batch's transfers from the batch", () => {
    const [first] = recording.collectives;
    if (first === undefined) throw new Error("a collective was recorded");
    const entry = (name: string, state: string, sequence = 1) =>
      ({ ...first, name, state, sequence, isP2p: true, retired: false }) as const;
    const excerpt = (...collectives: ReturnType<typeof entry>[]) => excerptOf({ ...recording, collectives });
    const transfer = entry("nccl:send 0->1", "scheduled");
    expect(excerpt(transfer, entry("nccl:coalesced", "completed"))).toContain("no collective was under way");
    const waiting = excerpt(entry("nccl:all_reduce", "completed"), transfer, entry("nccl:coalesced", "started"));
    expect(waiting).toMatch(/last one that was over:\nnccl:all_reduce/);
    expect(waiting).toContain("under way: 1");
    expect(waiting).toContain("nccl:coalesced p2p sequence 1");
    // Connecting the two ranks comes before the batch's own entry.
    expect(excerpt(entry("nccl:coalesced", "completed", 1), entry("nccl:recv 1<-0", "scheduled", 2))).toContain(
      "nccl:recv 1<-0 p2p sequence 2",
    );
  });

  it("has in its excerpt what had not completed, and the last that had", () => {
    const [first, second] = recording.collectives;
    if (first === undefined || second === undefined) throw new Error("two collectives were recorded");
    const collectives = [
      { ...first, state: "completed" },
      { ...second, retired: false, state: "started" },
    ];
    const lines = excerptOf({ ...recording, collectives }).split("\n");
    expect(lines[1]).toBe("under way: 1");
    expect(lines[2]).toBe(
      "gloo:all_reduce sequence 2 of group 0 default_pg: started, input [[4, 3]] [Float], output [[4, 3]]",
    );
    expect(lines.at(-1)).toContain("sequence 1 of group");
  });
});
