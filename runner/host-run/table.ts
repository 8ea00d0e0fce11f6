import { gpusInWords } from "../gpus/grant";
import type { LoadedTask } from "../suites/load";
import { type GateGrading, type GateVerdict, judge, type Validation } from "../suites/validate";
import { isNothing } from "./leftovers";
import type { HostRun } from "./state";

/** One task's report with what the gate says of it. */
export type TaskRow = { task: LoadedTask; report: Validation; verdict: GateVerdict };

export const rowOf = (task: LoadedTask, report: Validation): TaskRow => ({
  task,
  report,
  verdict: judge(task, report),
});

const middle = (values: readonly number[]): number | null => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? null : (sorted[sorted.length >> 1] ?? null);
};
const most = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length === 0 ? null : Math.max(...known);
};
const cell = (value: number | null, digits = 0): string =>
  value === null ? "—" : value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");
const mebibytes = (bytes: number | null): number | null => (bytes === null ? null : bytes / 1024 ** 2);

/** Peak memory of each GPU in MiB, the largest of any of these gradings. */
function gpuPeaksOf(gradings: readonly GateGrading[]): string {
  const gpus = Math.max(0, ...gradings.map(({ gpuPeaksMb }) => gpuPeaksMb?.length ?? 0));
  if (gpus === 0) return cell(most(gradings.map(({ gpuPeakMemoryMb }) => gpuPeakMemoryMb)));
  return Array.from({ length: gpus }, (_, gpu) => cell(most(gradings.map((each) => each.gpuPeaksMb?.[gpu])))).join(
    ", ",
  );
}

/** Mutants that pass every official test and that a probe rejects, of those that were graded. */
function mutantsOf({ task, report }: TaskRow): string {
  const graded = report.gradings.filter(({ patch }) => patch.startsWith("mutant-"));
  const rejected = graded.filter((each) => each.status === "completed" && each.officialResolved && !each.resolved);
  return `${rejected.length}/${task.mutants.length}`;
}

/** What a verdict lacks where nothing that was made speaks against admission. */
const lackingOf = ({ holds, rules }: GateVerdict): string =>
  holds
    ? ` yet: ${rules
        .flatMap(({ ok, found }) => (ok ? [] : [found]))
        .join("; ")
        .slice(0, 80)}`
    : "";

/** The longest row of gradings that left nothing of what was looked at after them, in the order of the reports. */
function cleanInARow(gradings: readonly GateGrading[]): number {
  let longest = 0;
  let current = 0;
  for (const { leftovers } of gradings) {
    if (leftovers === undefined) continue;
    current = isNothing(leftovers) ? current + 1 : 0;
    longest = Math.max(longest, current);
  }
  return longest;
}

const hostLine = ({ host, gpus, executor, runnerVersion, finishedAt }: HostRun | Validation): string => {
  const models = [...new Set(host.gpus.map(({ model }) => model))].join(", ");
  const software = [
    host.torch && `torch ${host.torch}`,
    host.nccl && `NCCL ${host.nccl}`,
    host.gpus[0] && `driver ${host.gpus[0].driver}`,
    `Python ${host.python}`,
  ];
  const used = gpus === 0 ? "no GPU" : `${gpus} ${models}`;
  return `${finishedAt.slice(0, 10)}, ${used} a grading, ${software.filter(Boolean).join(", ")}, executor ${executor}, runner ${runnerVersion}`;
};

function packingLines({ gradings, problems }: NonNullable<HostRun["packing"]>): string[] {
  const found = problems.length === 0 ? "each GPU had one at a time" : problems.join("; ");
  return [
    `${gradings.length} gradings asked two pools for half of the GPUs or for all: ${found}.`,
    "",
    "| pool | GPUs | waited s | ran s (since the first asked) |",
    "|---|---|---|---|",
    ...gradings.map(
      ({ pool, gpus, askedMs, startedMs, endedMs }) =>
        `| ${pool} | ${gpus.join(", ")} | ${cell((startedMs - askedMs) / 1000, 1)} | ${cell(startedMs / 1000, 1)} to ${cell(endedMs / 1000, 1)} |`,
    ),
    "",
  ];
}

function collectivesLines({
  gpus,
  rows,
  traffic,
  memory,
  withoutSharedMemory,
}: NonNullable<HostRun["collectives"]>): string[] {
  const wrong = rows.filter(({ holds }) => !holds);
  const lines = [
    `Two ranks on ${gpus === 0 ? "the CPU" : gpusInWords(gpus)} that do known things: the grader says the same of ${rows.length - wrong.length} of ${rows.length} tests${wrong.length === 0 ? "" : ` (not of ${wrong.map(({ test, expected, observed, rootRank }) => `${test}: ${observed}, root rank ${rootRank ?? "none"}, expected ${expected}`).join("; ")})`}.`,
    ...(withoutSharedMemory === null
      ? []
      : [
          `Without room in /dev/shm the grading ends as ${withoutSharedMemory.status} (${withoutSharedMemory.reason}): ${withoutSharedMemory.holds ? "as expected" : "not as expected"}.`,
        ]),
    "",
    "| moved by | meter | MiB measured | MiB by theory | difference |",
    "|---|---|---|---|---|",
    ...traffic.map(({ test, meter, bytes, theoreticalBytes }) => {
      const difference = theoreticalBytes === 0 ? null : 100 * (bytes / theoreticalBytes - 1);
      const name = test.replace("test_moves_by_", "").replace("test_moves_", "");
      return `| ${name} | ${meter} | ${cell(mebibytes(bytes), 2)} | ${cell(mebibytes(theoreticalBytes), 0)} | ${cell(difference, 1)}${difference === null ? "" : " %"} |`;
    }),
    "",
  ];
  if (memory.nvmlMb !== null) {
    lines.push(
      `A rank that holds ${memory.heldMb} MiB: NVML says ${cell(memory.nvmlMb)} MiB for its GPU, the allocator ${cell(memory.allocatorMb)} MiB.`,
    );
  }
  return lines;
}

/** The table of a host run in Markdown, for a suite's README. */
export function hostRunTable(rows: readonly TaskRow[], run: HostRun | null): string {
  const first = rows[0]?.report ?? run;
  if (first == null) return "";
  const lines = [
    `${hostLine(first)}:`,
    "",
    "| task | gate | gold | nop f2p passing | mutants rejected | grading s | peak MiB of each GPU | peak host MiB | transport MiB | NVLink MiB | flaky tests |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
  ];
  for (const row of rows) {
    const { report, verdict, task } = row;
    const gold = report.gradings.filter(({ patch }) => patch === "gold");
    const nop = report.gradings.find(({ patch }) => patch === "nop");
    const failToPass = new Set(task.manifest.tests.filter((test) => test.expectation === "f2p").map(({ id }) => id));
    const passing = nop?.tests.filter((test) => failToPass.has(test.id) && test.status === "passed").length ?? null;
    const flaky = verdict.tests.filter((test) => test.flakeRate > 0 && test.flakeRate < 1).length;
    lines.push(
      `| ${[
        `\`${task.metadata.slug}\``,
        verdict.admitted ? "admitted" : `not admitted${lackingOf(verdict)}`,
        `${gold.filter(({ resolved }) => resolved).length}/${report.repeats}`,
        cell(passing),
        mutantsOf(row),
        cell(middle(gold.map(({ durationMs }) => durationMs / 1000)), 1),
        gpuPeaksOf(gold),
        cell(most(gold.map(({ peakMemoryMb }) => peakMemoryMb))),
        cell(mebibytes(most(gold.map(({ transportBytes }) => transportBytes))), 1),
        cell(mebibytes(most(gold.map(({ nvlinkBytes }) => nvlinkBytes))), 1),
        String(flaky),
      ].join(" | ")} |`,
    );
  }
  lines.push("");
  const watched = rows.flatMap(({ report }) => report.gradings).filter(({ leftovers }) => leftovers !== undefined);
  if (watched.length > 0) {
    const left = watched.filter(({ leftovers }) => leftovers !== undefined && !isNothing(leftovers)).length;
    lines.push(
      `The GPUs were looked at after each of ${watched.length} gradings: ${left} left memory in use, ${cleanInARow(watched)} in a row left nothing.`,
    );
  }
  for (const { gradings, ...left } of run?.calls ?? []) {
    const found = isNothing(left)
      ? "no process, file or GPU memory was left"
      : `${left.processes.length} processes, ${left.paths.length} files and ${left.gpuMemoryMb} MiB of GPU memory were there that were not before (host-run.json names them; true only where nothing else runs)`;
    lines.push(`After ${gradings} grading${gradings === 1 ? "" : "s"} the host was looked at as a whole: ${found}.`);
  }
  if (run?.selftest) {
    const { results, controlResolved } = run.selftest;
    const passed = results.filter(({ verdict }) => verdict === "passed").length;
    lines.push(
      `Self-test: ${results.length - passed} of ${results.length} exploits prevented or detected; the honest control ${controlResolved ? "resolves" : "does not resolve"}.`,
    );
  }
  if (run?.packing) lines.push(...packingLines(run.packing));
  if (run?.collectives) lines.push(...collectivesLines(run.collectives));
  for (const { task, launches, handMs, launchMs, gradingMs } of run?.overhead ?? []) {
    const ratio = middle(launchMs.map((ms, round) => ms / (handMs[round] ?? Number.NaN)));
    lines.push(
      `Overhead, \`${task}\`: ${launches} launches ${cell((middle(launchMs) ?? 0) / 1000, 1)} s against ${cell((middle(handMs) ?? 0) / 1000, 1)} s by hand (${cell(ratio, 2)} x, median of ${handMs.length} rounds in turns); the whole grading ${cell((middle(gradingMs) ?? 0) / 1000, 1)} s.`,
    );
  }
  return `${lines.join("\n")}\n`;
}
