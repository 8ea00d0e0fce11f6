import { createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { properties } from "@/lib/contract/vocabulary";

/** Text that the plugin cut by characters, of which some are two units here: cut again, never refused. */
const cutAt = (most: number) => z.string().transform((text) => text.slice(0, most));
const frameSchema = z.object({
  file: cutAt(4096),
  line: z.int().nonnegative(),
  function: cutAt(400),
  code: cutAt(400).nullable(),
});
const exceptionSchema = z.object({
  type: cutAt(300),
  mro: z.array(cutAt(300)).max(200),
  message: cutAt(20_000),
  frames: z.array(frameSchema).max(200),
  check: z.enum(properties).nullable(),
});
const base = { seq: z.int(), time: z.number(), mono: z.number() };
const id = z.string().max(4096);

const rankEventSchema = z.discriminatedUnion("event", [
  z.object({ ...base, event: z.literal("session_start"), python: z.string(), pytest: z.string() }),
  z.object({ ...base, event: z.literal("collect_start"), path: id }),
  z.object({
    ...base,
    event: z.literal("collect_error"),
    path: id,
    outcome: z.enum(["failed", "skipped"]),
    exception: exceptionSchema.nullable(),
  }),
  z.object({ ...base, event: z.literal("collected"), ids: z.array(id), extra: z.array(id) }),
  z.object({ ...base, event: z.literal("test_start"), id }),
  z.object({ ...base, event: z.literal("call_start"), id }),
  z.object({
    ...base,
    event: z.literal("report"),
    id,
    phase: z.enum(["setup", "call", "teardown"]),
    outcome: z.enum(["passed", "failed", "skipped"]),
    duration: z.number().nonnegative(),
    exception: exceptionSchema.nullable(),
    message: z.string().nullable(),
    xfail: z.boolean(),
    peak_rss_kb: z.number().nonnegative(),
    /** Peaks of torch's allocator during the call, in bytes; null where CUDA was not in use. */
    gpu_memory: z.object({ allocated: z.number().nonnegative(), reserved: z.number().nonnegative() }).nullish(),
  }),
  z.object({
    ...base,
    event: z.literal("resource"),
    id: id.nullable(),
    name: cutAt(80),
    value: z.number(),
    limit: z.number(),
    unit: cutAt(20),
    repeats: z.int().min(1),
    property: z.enum(properties).nullable(),
  }),
  z.object({ ...base, event: z.literal("integrity"), what: cutAt(500) }),
  z.object({ ...base, event: z.literal("session_finish"), exitstatus: z.int() }),
]);
export type RankEvent = z.infer<typeof rankEventSchema>;
export type RankException = z.infer<typeof exceptionSchema>;

/** What the plugin is told before anything of the candidate is loaded. */
export type RankPlan = {
  /** Prefix of ids and the folder that it stands for, most specific first. */
  roots: [prefix: string, folder: string][];
  /** Ids in the order in which they run. */
  select: string[];
  rank: number | null;
  /** Whether each rank waits before a test's call until the parent has read its meters. */
  gated?: boolean;
  /** Whether each rank waits before each test until all of them are there. */
  in_step?: boolean;
};

const macLength = 32;

/** One rank's channel as the grader sees it: only lines that carry the right MAC, in the right order, are events. */
export class EventStream {
  private readonly key = randomBytes(32);
  private seq = 0;
  /** Verified event lines, as written. */
  readonly lines: string[] = [];
  /** The first lines that nobody but the plugin should have written, and did not. */
  readonly forged: string[] = [];

  opening(plan: RankPlan): string {
    return JSON.stringify({ key: this.key.toString("hex"), plan });
  }

  /** The event that a line carries, or null where the line is not the plugin's. */
  accept(line: Buffer): RankEvent | null {
    const body = line.subarray(macLength + 1);
    const mac = createHmac("sha256", this.key).update(`${this.seq} `).update(body).digest("hex").slice(0, macLength);
    if (line.subarray(0, macLength).toString("latin1") !== mac || line[macLength] !== 32) {
      this.reject(line);
      return null;
    }
    this.seq += 1;
    const text = body.toString("utf8");
    const event = parseEvent(text);
    if (event === null) this.reject(line);
    else this.lines.push(text);
    return event;
  }

  private reject(line: Buffer): void {
    if (this.forged.length < 5) this.forged.push(line.subarray(0, 300).toString("utf8"));
  }
}

function parseEvent(text: string): RankEvent | null {
  try {
    return rankEventSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
