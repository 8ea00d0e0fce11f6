import { gpusInWords } from "../gpus/grant";
import { median } from "../resources/decide";
import type { LoadedTask } from "../suites/load";
import { exploitsOf, type GateGrading, type GateVerdict, judge, type Validation } from "../suites/validate";
import { collectivesProblems } from "./collectives";
import { isNothing, type Leftovers, wasLooked } from "./leftovers";
import type { HostRun } from "./state";

/** One task's report with what the gate says of it. */
export type TaskRow = { task: LoadedTask; report: Validation; verdict: GateVerdict };

/** A task's report, judged. */
export const rowOf = (task: LoadedTask, report: Validation): TaskRow => ({
  task,
  report,
  verdict: judge(task, report),
});

const most = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length === 0 ? null : Math.max(...known);
};
const cell = (value: number | null, digits = 0): string =>
  value === null || Number.isNaN(value) ? "—" : value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");
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

/** What the looks after gradings found of GPU memory, processes and files. */
function leftoversLine(watched: readonly GateGrading[]): string {
  const looks = watched.flatMap(({ leftovers }) => leftovers ?? []);
  const count = (of: (left: Leftovers) => boolean): number => looks.filter(of).length;
  const unread = count(({ gpuMemoryMb }) => gpuMemoryMb === null);
  return [
    `The GPUs were looked at after each of ${looks.length} gradings: ${count(({ gpuMemoryMb }) => (gpuMemoryMb ?? 0) > 0)} left memory in use${unread === 0 ? "" : `, after ${unread} it could not be read`}`,
    `${count(({ processes, paths }) => processes !== null && paths !== null)} of ${looks.length} were looked at for processes and files too, ${count(({ processes, paths }) => (processes ?? []).length + (paths ?? []).length > 0)} left some`,
    `${cleanInARow(watched)} in a row left nothing.`,
  ].join("; ");
}

function leftInNumbers(left: Leftovers): string {
  if (isNothing(left)) return "no process, file or GPU memory was left";
  const { processes, paths, gpuMemoryMb } = left;
  const memory = gpuMemoryMb === null ? "" : ` and ${gpuMemoryMb} MiB of GPU memory`;
  const unread = gpuMemoryMb === null ? "; GPU memory could not be read" : "";
  return `${processes?.length ?? 0} processes, ${paths?.length ?? 0} files${memory} were there that were not before (host-run.json names them; true only where nothing else runs)${unread}`;
}

/** On what the gradings were made; `counts` are the numbers of GPUs that they had. */
const hostLine = (
  { host, executor, runnerVersion, finishedAt }: HostRun | Validation,
  counts: ReadonlySet<number>,
): string => {
  const models = [...new Set(host.gpus.map(({ model }) => model))].join(", ");
  const software = [
    host.torch && `torch ${host.torch}`,
    host.nccl && `NCCL ${host.nccl}`,
    host.gpus[0] && `driver ${host.gpus[0].driver}`,
    `Python ${host.python}`,
  ];
  const numbers = [...counts].sort((a, b) => a - b).map((gpus) => (gpus === 0 ? "no GPU" : String(gpus)));
  const used = `${numbers.join(" or ")}${counts.has(0) && counts.size === 1 ? "" : ` ${models}`}`;
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

function collectivesLines(seen: NonNullable<HostRun["collectives"]>): string[] {
  const { gpus, rows, traffic, memory, withoutSharedMemory } = seen;
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
  const problems = collectivesProblems(seen);
  if (problems.length > 0) lines.push(`What was measured is not as known: ${problems.join("; ")}.`);
  return lines;
}

/** The table of a host run in Markdown, for a suite's README. */
export function hostRunTable(rows: readonly TaskRow[], run: HostRun | null): string {
  const first = rows[0]?.report ?? run;
  if (first == null) return "";
  const lines = [
    `${hostLine(first, new Set(rows.length === 0 ? [first.gpus] : rows.map(({ report }) => report.gpus)))}:`,
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
        cell(median(gold.map(({ durationMs }) => durationMs / 1000)), 1),
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
  if (watched.length > 0) lines.push(leftoversLine(watched));
  for (const { gradings, ...left } of run?.calls ?? []) {
    const after = `After ${gradings} grading${gradings === 1 ? "" : "s"} the host was`;
    lines.push(
      wasLooked(left)
        ? `${after} looked at as a whole: ${leftInNumbers(left)}.`
        : `${after} not looked at: the call was ended before.`,
    );
  }
  if (run?.selftest) {
    const { run: tried, passed, controlResolved } = exploitsOf(run.selftest);
    const untried = run.selftest.results.length - tried;
    lines.push(
      `Self-test: ${tried - passed.length} of ${tried} exploits tried were prevented or detected${untried === 0 ? "" : `, ${untried} not applicable on this host`}; the honest control ${controlResolved ? "resolves" : "does not resolve"}.`,
    );
  }
  if (run?.packing) lines.push(...packingLines(run.packing));
  if (run?.collectives) lines.push(...collectivesLines(run.collectives));
  for (const { task, launches, handMs, launchMs, gradingMs } of run?.overhead ?? []) {
    const ratio = median(launchMs.map((ms, round) => ms / (handMs[round] ?? Number.NaN)));
    lines.push(
      `Overhead, \`${task}\`: ${launches} launches ${cell(median(launchMs) / 1000, 1)} s against ${cell(median(handMs) / 1000, 1)} s by hand (${cell(ratio, 2)} x, median of ${handMs.length} rounds in turns); the whole grading ${cell(median(gradingMs) / 1000, 1)} s.`,
    );
  }
  return `${lines.join("\n")}\n`;
}
