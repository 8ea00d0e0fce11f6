import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import { hostFactsSchema, type Result } from "@/lib/contract/result";
import { instantSchema, sha256Schema, slugSchema } from "@/lib/contract/scalars";
import { manifestForGpus, testIdSchema } from "@/lib/contract/task";
import { executors, gradingStatuses, type OutcomeStatus, outcomeStatuses } from "@/lib/contract/vocabulary";
import { median } from "../resources/decide";
import { sha256Hex } from "./files";
import type { LoadedTask } from "./load";
import { readReferencePatch } from "./reference";

/** One grading of the gate: which reference patch, and which repeat of it. */
export type GateItem = { patch: string; repeat: number };

const gradingSchema = z.object({
  patch: z.string(),
  /** Of the patch that was graded: a reference patch that changed since has to be graded again. */
  patchSha256: sha256Schema.optional(),
  repeat: z.int().positive(),
  status: z.enum(gradingStatuses),
  reason: z.string().nullable(),
  resolved: z.boolean(),
  officialResolved: z.boolean(),
  durationMs: z.number(),
  /** Peak resident memory of a rank, in MiB, the largest over launches and ranks; null where nothing measured it. */
  peakMemoryMb: z.number().nullable(),
  tests: z.array(
    z.object({
      id: testIdSchema,
      status: z.enum(outcomeStatuses),
      durationMs: z.number().nullable(),
      /** Growth of a rank's peak resident memory during the test, in MiB, the largest over ranks. */
      peakMemoryMb: z.number().nullable(),
      /** Of gold alone: what a test that did not pass said, on each rank, and where it stood where it hung. */
      failure: z.string().optional(),
    }),
  ),
  /** Peak memory of a GPU above what was used before, in MiB, and bytes moved: the largest of any launch. */
  gpuPeakMemoryMb: z.number().optional(),
  /** The same of each GPU of the grading, in the order of their ranks; null where nothing measured it. */
  gpuPeaksMb: z.array(z.number().nullable()).optional(),
  transportBytes: z.number().optional(),
  nvlinkBytes: z.number().optional(),
  /** Whether the grading ended with the first probe that rejected the patch: what it did not launch is `not-run`. */
  untilRejected: z.boolean().optional(),
  /**
   * What the host had after the grading that it had not before: memory of the grading's GPUs, and, where nothing else
   * graded meanwhile, processes and paths. Absent where nobody looked.
   */
  leftovers: z
    .object({
      processes: z.array(z.string()).nullable(),
      paths: z.array(z.string()).nullable(),
      /** Null where the GPUs' memory could not be read: nobody knows what was left of it. */
      gpuMemoryMb: z.number().nullable(),
    })
    .optional(),
});
export type GateGrading = z.infer<typeof gradingSchema>;

/** Gradings of gold at most. */
export const maxRepeats = 100;

/** What one run of `task validate` saw, whole or a shard. Signed as a DSSE envelope; kept outside the task's digests. */
export const validationSchema = z.object({
  format: z.literal("infradev-validation/1"),
  suite: z.object({ slug: slugSchema, version: z.string() }),
  task: slugSchema,
  gradingDigest: sha256Schema,
  promptDigests: z.record(z.string(), sha256Schema),
  runnerVersion: z.string(),
  executor: z.enum(executors),
  host: hostFactsSchema,
  startedAt: instantSchema,
  finishedAt: instantSchema,
  /** GPUs that each grading had; tests that need more were not required. */
  gpus: z.int().nonnegative().default(0),
  /** Repeats of gold that the whole validation has. */
  repeats: z.int().min(1).max(maxRepeats),
  gradings: z.array(gradingSchema),
  /**
   * Of the self-test: exploits that were tried (older reports count those too that the host lacks something for), and
   * those that passed; null in shards that did not run it.
   */
  exploits: z.object({ run: z.int(), passed: z.array(z.string()), controlResolved: z.boolean() }).nullable(),
});
export type Validation = z.infer<typeof validationSchema>;
/** The type of what a report's envelope signs. */
export const validationPayloadType = "application/vnd.infradev.validation+json";

/** Every grading of the gate, in its order: nop, gold, each mutant, and gold again until it was graded `repeats` times. */
export function gateItems(task: Pick<LoadedTask, "mutants">, repeats: number): GateItem[] {
  return [
    { patch: "nop", repeat: 1 },
    { patch: "gold", repeat: 1 },
    ...task.mutants.map((mutant) => ({ patch: `mutant-${mutant.number}`, repeat: 1 })),
    ...Array.from({ length: repeats - 1 }, (_, index) => ({ patch: "gold", repeat: index + 2 })),
  ];
}

export type Shard = { index: number; count: number };

/** Reads `2/5`. */
export function parseShard(text: string): Shard {
  const match = /^(\d+)\/(\d+)$/.exec(text);
  const shard = { index: Number(match?.[1]), count: Number(match?.[2]) };
  if (match && shard.index >= 1 && shard.index <= shard.count) return shard;
  throw new InfraDevError("invalid", {
    code: "usage.shard",
    message: `'${text}' is no shard`,
    where: "--shard",
    rule: "<index>/<count>, the index counted from 1",
    remedy: "for example --shard 1/3, --shard 2/3, --shard 3/3, and then --merge",
  });
}

/** The items of one shard; the first shard of each task runs the exploits. */
export function itemsOfShard(items: readonly GateItem[], shard: Shard): GateItem[] {
  return items.filter((_, index) => index % shard.count === shard.index - 1);
}

/** A grading's result as the report keeps it. */
export function gateGradingOf(
  item: GateItem,
  result: Result,
  memory: { peakMemoryMb: number | null; ofTest: ReadonlyMap<string, number>; ofGpu: readonly (number | null)[] },
  untilRejected: boolean = false,
): GateGrading {
  const usages = result.launches.flatMap(({ usage }) => usage ?? []);
  const most = (values: readonly (number | null)[]): number | undefined => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? undefined : Math.max(...known);
  };
  const gpuPeakMemoryMb = most(usages.map(({ gpuPeakMib }) => gpuPeakMib));
  const transportBytes = most(usages.map((usage) => usage.transportBytes));
  const nvlinkBytes = most(usages.map((usage) => usage.nvlinkBytes));
  return {
    ...item,
    ...(untilRejected ? { untilRejected } : {}),
    ...(gpuPeakMemoryMb === undefined ? {} : { gpuPeakMemoryMb }),
    ...(memory.ofGpu.length === 0 ? {} : { gpuPeaksMb: [...memory.ofGpu] }),
    ...(transportBytes === undefined ? {} : { transportBytes }),
    ...(nvlinkBytes === undefined ? {} : { nvlinkBytes }),
    status: result.status,
    reason: result.reason === null ? null : `${result.reason.code}: ${result.reason.message}`,
    resolved: result.summary.resolved,
    officialResolved: result.summary.officialResolved,
    durationMs: result.durationMs,
    peakMemoryMb: memory.peakMemoryMb,
    tests: result.tests.map((test) => {
      const { id, status, durationMs } = test;
      const failure = item.patch === "gold" ? failureOf(test) : undefined;
      return {
        id,
        status,
        durationMs,
        peakMemoryMb: memory.ofTest.get(id) ?? null,
        ...(failure === undefined ? {} : { failure }),
      };
    }),
  };
}

/** A test that gold does not pass is looked into by whoever reads the report, without the grading's bundle. */
function failureOf({ rootRank, ranks }: Result["tests"][number]): string | undefined {
  const failed = ranks.flatMap(({ rank, failure }) => (failure === null ? [] : [{ rank, failure }]));
  if (failed.length === 0) return undefined;
  const textOf = ({ failure }: (typeof failed)[number]): string => {
    const said = failure.exceptionType === null ? failure.message : `${failure.exceptionType}: ${failure.message}`;
    const stacks = (failure.evidence ?? []).filter(({ kind }) => kind === "stack-dump").map(({ excerpt }) => excerpt);
    return [said.slice(0, 400), ...stacks.map((stack) => stack.slice(0, 2000))].join("\n");
  };
  const rootFirst = failed.toSorted((a, b) => Number(b.rank === rootRank) - Number(a.rank === rootRank)).slice(0, 4);
  const rankOf = new Map<string, number>();
  for (const each of rootFirst) {
    const text = textOf(each);
    if (!rankOf.has(text)) rankOf.set(text, each.rank);
  }
  const texts = [...rankOf.keys()];
  return texts.length === 1 ? texts[0] : texts.map((text) => `rank ${rankOf.get(text)}: ${text}`).join("\n");
}

/** What the gate keeps of a self-test: how many exploits this host could try, and which passed. */
export function exploitsOf({
  controlResolved,
  results,
}: {
  controlResolved: boolean;
  results: readonly { name: string; verdict: string }[];
}): NonNullable<Validation["exploits"]> {
  return {
    run: results.filter(({ verdict }) => verdict !== "not-applicable").length,
    passed: results.filter(({ verdict }) => verdict === "passed").map(({ name }) => name),
    controlResolved,
  };
}

/** What several self-tests show together: an exploit that passed once passes, and the fewest were tried on all. */
function mergeExploits(reports: readonly Validation[]): Validation["exploits"] {
  const seen = reports.flatMap(({ exploits }) => exploits ?? []);
  if (seen.length === 0) return null;
  return {
    run: Math.min(...seen.map(({ run }) => run)),
    passed: [...new Set(seen.flatMap(({ passed }) => passed))],
    controlResolved: seen.every(({ controlResolved }) => controlResolved),
  };
}

/** Throws `validation.patch` where a reference patch of the task is of other bytes than the one that was graded. */
export async function requireGradedPatches(task: LoadedTask, report: Validation): Promise<void> {
  const planned = new Set(gateItems(task, 1).map(({ patch }) => patch));
  for (const { patch, patchSha256 } of report.gradings.filter((grading) => planned.has(grading.patch))) {
    if (patchSha256 === undefined || patchSha256 === sha256Hex(await readReferencePatch(task, patch))) continue;
    throw new InfraDevError("conflict", {
      code: "validation.patch",
      message: `'${patch}' is of other bytes than the patch that was graded`,
      where: `${task.dir}, ${patch}`,
      rule: "a validation admits the reference patches that it graded",
      remedy: `run the shards again that graded ${patch}, and merge their new reports`,
    });
  }
}

/** Joins reports of shards of one task. Throws `validation.*` where they are not of the same thing. */
export function mergeValidations(reports: readonly Validation[]): Validation {
  const [first, ...rest] = reports;
  if (first === undefined) throw new Error("at least one report is merged");
  for (const other of rest) {
    for (const field of ["task", "gradingDigest", "executor", "repeats", "runnerVersion", "gpus"] as const) {
      if (other[field] === first[field]) continue;
      throw new InfraDevError("conflict", {
        code: "validation.mixed",
        message: `the reports differ in '${field}': ${first[field]} and ${other[field]}`,
        where: field,
        rule: "reports of one task, one grading digest, one executor and one runner version are merged",
        remedy: "run the shards of the older report again",
      });
    }
  }
  const gradings = new Map<string, GateGrading>();
  const digests = new Map<string, string>();
  for (const grading of reports.flatMap((report) => report.gradings)) {
    const { patch, patchSha256 } = grading;
    if (patchSha256 !== undefined && patchSha256 !== (digests.get(patch) ?? patchSha256)) {
      throw new InfraDevError("conflict", {
        code: "validation.mixed",
        message: `the reports graded two different patches as ${patch}`,
        where: patch,
        rule: "gradings of one reference patch are of the same bytes",
        remedy: "run the shards of the older report again",
      });
    }
    if (patchSha256 !== undefined) digests.set(patch, patchSha256);
    const key = `${grading.patch}#${grading.repeat}`;
    if (gradings.has(key)) {
      throw new InfraDevError("conflict", {
        code: "validation.twice",
        message: `two reports hold the grading ${key}`,
        rule: "each grading of the gate counts once, so that no failed one is left out",
        remedy: "merge reports of different shards",
      });
    }
    gradings.set(key, grading);
  }
  const starts = reports.map((report) => report.startedAt).sort();
  const ends = reports.map((report) => report.finishedAt).sort();
  return {
    ...first,
    startedAt: starts[0] ?? first.startedAt,
    finishedAt: ends.at(-1) ?? first.finishedAt,
    gradings: [...gradings.values()],
    exploits: mergeExploits(reports),
  };
}

type GateRule = { rule: string; ok: boolean; found: string };
type TestStatistics = {
  id: string;
  kind: string;
  property: string;
  required: boolean;
  medianMs: number | null;
  peakMemoryMb: number | null;
  /** Share of gold's repeats in which the test did not pass. */
  flakeRate: number;
  /** Mutants whose grading this test did not pass. */
  rejects: string[];
};
export type GateVerdict = {
  /** Every grading of the gate was made, and every rule holds. */
  admitted: boolean;
  /** Every rule holds for the gradings that were made. */
  holds: boolean;
  rules: GateRule[];
  tests: TestStatistics[];
};

/** A test that was not launched, since another had rejected the patch, says nothing of it. */
const rejects = (grading: GateGrading, status: OutcomeStatus): boolean =>
  status !== "passed" && !(grading.untilRejected && status === "not-run");

/** The gate: what must hold before a task enters a suite. A report that is not complete admits nothing. */
export function judge(task: Pick<LoadedTask, "manifest" | "mutants">, report: Validation): GateVerdict {
  const rules: GateRule[] = [];
  const { tests } = manifestForGpus(task.manifest, report.gpus);
  const of = (patch: string) => report.gradings.filter((grading) => grading.patch === patch);
  const statusIn = (grading: GateGrading, id: string) =>
    grading.tests.find((test) => test.id === id)?.status ?? "not-run";
  const planned = gateItems(task, report.repeats);
  const lacking = planned.filter((item) => !of(item.patch).some((grading) => grading.repeat === item.repeat));
  const complete = lacking.length === 0 && report.exploits !== null;

  const failToPass = tests.filter((test) => test.expectation === "f2p" && test.required);
  for (const nop of of("nop")) {
    const passing = failToPass.filter((test) => statusIn(nop, test.id) === "passed");
    rules.push({
      rule: "nop fails every f2p test",
      ok: nop.status === "completed" && passing.length === 0,
      found:
        nop.status !== "completed"
          ? `${nop.status}: ${nop.reason}`
          : passing.length === 0
            ? `${failToPass.length} of ${failToPass.length} fail`
            : `passes ${passing.map((test) => test.id).join(", ")}`,
    });
    const broken = tests.filter((t) => t.expectation === "p2p" && t.required && statusIn(nop, t.id) !== "passed");
    rules.push({
      rule: "nop passes every required p2p test",
      ok: broken.length === 0,
      found:
        broken.length === 0 ? "all pass" : broken.map((test) => `${test.id}: ${statusIn(nop, test.id)}`).join(", "),
    });
  }
  const gold = of("gold");
  if (gold.length > 0) {
    const resolved = gold.filter((grading) => grading.resolved).length;
    const failing = new Set(
      gold.flatMap((grading) =>
        tests
          .filter((t) => t.required && statusIn(grading, t.id) !== "passed")
          .map((t) => {
            const said = grading.tests.find(({ id }) => id === t.id)?.failure;
            return `${t.id}: ${statusIn(grading, t.id)}${said === undefined ? "" : ` (${said.split("\n")[0]})`}`;
          }),
      ),
    );
    rules.push({
      rule: `gold passes all that is required, ${report.repeats} of ${report.repeats}`,
      ok: resolved === gold.length,
      found: `${resolved} of ${gold.length}${failing.size > 0 ? `; ${[...failing].join(", ")}` : ""}`,
    });
  }
  for (const mutant of task.mutants) {
    for (const grading of of(`mutant-${mutant.number}`)) {
      const officialMissed = tests.filter(
        (t) => t.kind === "official" && t.required && statusIn(grading, t.id) !== "passed",
      );
      const rejecting = tests.filter(
        (t) => t.kind === "probe" && t.required && rejects(grading, statusIn(grading, t.id)),
      );
      rules.push({
        rule: `mutant ${mutant.number} (${mutant.name}) passes the official tests and fails a probe`,
        ok: grading.status === "completed" && grading.officialResolved && !grading.resolved,
        found:
          grading.status !== "completed"
            ? `${grading.status}: ${grading.reason}`
            : officialMissed.length > 0
              ? `official: ${officialMissed.map((t) => `${t.id} ${statusIn(grading, t.id)}`).join(", ")}`
              : `${rejecting.length} of ${tests.filter((t) => t.kind === "probe" && t.required).length} probes reject it`,
      });
    }
  }
  if (report.exploits !== null) {
    const { run, passed, controlResolved } = report.exploits;
    rules.push({
      rule: "each exploit of the self-test is caught",
      ok: passed.length === 0 && controlResolved,
      found: !controlResolved
        ? "the honest control does not resolve"
        : passed.length === 0
          ? `${run} of ${run} caught`
          : `passed: ${passed.join(", ")}`,
    });
  }
  const holds = rules.every((rule) => rule.ok);
  if (!complete) {
    const what = [
      ...lacking.map((item) => `${item.patch}#${item.repeat}`),
      ...(report.exploits === null ? ["the self-test"] : []),
    ];
    rules.push({ rule: "every grading of the gate was made", ok: false, found: `lacking ${what.join(", ")}` });
  }
  const rejecters = report.gradings.filter((grading) => grading.patch.startsWith("mutant-"));
  return {
    admitted: complete && holds,
    holds,
    rules,
    tests: tests.map((test) => {
      const runs = gold.flatMap((grading) => grading.tests.filter((each) => each.id === test.id));
      const memory = runs.flatMap((run) => (run.peakMemoryMb === null ? [] : [run.peakMemoryMb]));
      const durations = runs.flatMap((run) => (run.durationMs === null ? [] : [run.durationMs]));
      return {
        id: test.id,
        kind: test.kind,
        property: test.property,
        required: test.required,
        medianMs: durations.length === 0 ? null : median(durations),
        peakMemoryMb: memory.length === 0 ? null : Math.max(...memory),
        flakeRate: gold.length === 0 ? 0 : gold.filter((g) => statusIn(g, test.id) !== "passed").length / gold.length,
        rejects: rejecters.filter((g) => rejects(g, statusIn(g, test.id))).map((g) => g.patch),
      };
    }),
  };
}
