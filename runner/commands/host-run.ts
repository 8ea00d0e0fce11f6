import { existsSync, realpathSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { GpuPool, servableGpus, tooFew } from "../gpus/pool";
import type { RunnerExecutor } from "../grade-to-bundle";
import { ensurePython } from "../grading/python-runtime";
import { failedSteps } from "../host-run/failed-steps";
import { type HostRunStep, hostRunSteps, runOnHost } from "../host-run/host-run";
import { hostRunTable } from "../host-run/table";
import { requireFile } from "../input-file";
import { type LoadedTask, loadTask, readSuiteFile } from "../suites/load";
import { provideSources } from "../suites/upstream/sources";
import { maxRepeats } from "../suites/validate";
import { exitCodes } from "../terminal/output";
import { defaultDataDir } from "./doctor";
import { keysOfReports, reportKeysOption } from "./given-keys";
import { executorOption } from "./grade";
import { locateSuite, locateTask } from "./locate";
import { mirrorOption, mirrorsOf } from "./mirror-option";
import { ensureOutputFolder } from "./output-folder";
import { runCommand } from "./run-command";

type HostRunCommandOptions = {
  executor: RunnerExecutor;
  mirror?: string[];
  gpus?: number;
  sideBySide?: boolean;
  untilRejected?: boolean;
  steps?: HostRunStep[];
  repeats: number;
  rounds: number;
  minutes: number;
  out: string;
  key: string;
  keys?: string;
  json?: boolean;
};

const between =
  (least: number, most: number, whole: boolean) =>
  (text: string): number => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
    throw new InvalidArgumentError(`expected a${whole ? " whole" : ""} number from ${least} to ${most}`);
  };

/** Ranks of a CPU grading, so that gradings side by side do not slow each other down. */
const ranksOf = (tasks: readonly LoadedTask[]): number =>
  Math.max(1, ...tasks.flatMap((task) => task.manifest.groups.map(({ nproc }) => nproc)));

/** Folders of the tasks that an argument names: a task, by its path or a bundled one's slug, or a suite with all its tasks. */
async function taskFolders(name: string | undefined): Promise<string[]> {
  if (name !== undefined && !existsSync(join(resolve(name), "suite.toml"))) return [locateTask(name, undefined)];
  const dir = locateSuite(name);
  return (await readSuiteFile(dir)).tasks.map((slug) => locateTask(slug, dir));
}

/** Where only some steps were asked for, calling again does not make the others. */
const leftOut = (steps: readonly HostRunStep[] | undefined): string => {
  const others = steps === undefined ? [] : hostRunSteps.filter((step) => !steps.includes(step));
  const again = ": call the same command again";
  return others.length === 0 ? again : `${again} for what it had no time for; not asked for: ${others.join(", ")}`;
};

/** `runner host-run`: exit 0 where everything was made and holds, 3 where some is left to make, 1 where something fails. */
export function registerHostRun(program: Command): void {
  program
    .command("host-run [suites-or-tasks...]")
    .description(
      "everything that has to be seen on a host: self-test, known ranks, packing, gate of every task, overhead; in resumable parts",
    )
    .addOption(executorOption())
    .addOption(mirrorOption())
    .option("--gpus <n>", "GPUs of a grading at most; all healthy ones by default, 0 for none", between(0, 1024, true))
    .option("--side-by-side", "gradings with GPUs side by side, as many as the GPUs allow")
    .option("--until-rejected", "end a mutant's grading with the first probe that rejects it, where time is short")
    .addOption(new Option("--steps <steps...>", "only these; what is left out stays to be made").choices(hostRunSteps))
    .option("--repeats <n>", "gradings of gold", between(1, maxRepeats, true), 5)
    .option(
      "--rounds <n>",
      "rounds of the comparison with launches by hand; 0 leaves it out",
      between(0, 1000, true),
      5,
    )
    .option("--minutes <n>", "end within this time; the same command again goes on", between(0.1, 10_080, false), 8.5)
    .option("--out <dir>", "where the signed reports and table.md go", ".data/host-run")
    .option("--key <file>", "key that signs the reports (made where there is none)", join(defaultDataDir, "key.pem"))
    .addOption(reportKeysOption())
    .option("--json", "one JSON document on stdout")
    .action((names: string[], options: HostRunCommandOptions) =>
      runCommand(options, async (output, signal) => {
        const untilMs = performance.now() + options.minutes * 60_000;
        const out = await ensureOutputFolder(options.out);
        const tablePath = join(out, "table.md");
        if (existsSync(tablePath)) {
          await requireFile(tablePath, {
            code: "host-run.table",
            rule: "the table is a file in the folder that --out names",
            remedy: "remove it, or name another --out",
          });
        }
        const { signer, keys } = await keysOfReports(resolve(options.key), options.keys, signal);
        const tasks: LoadedTask[] = [];
        const folders = (await Promise.all((names.length > 0 ? names : [undefined]).map(taskFolders))).flat();
        for (const dir of new Set(folders.map((folder) => realpathSync(folder)))) {
          const task = await loadTask(dir);
          await provideSources(task, mirrorsOf(options));
          tasks.push(task);
        }
        const poolOptions = { what: "host-run", onWait: (text: string) => output.status(text) };
        const pool = new GpuPool(poolOptions);
        const elsewhere = new GpuPool(poolOptions);
        const seen = await pool.look();
        // Those in use too: fewer would be another launch profile, under the folder of this one.
        const minMemoryMb = Math.max(0, ...tasks.map(({ metadata }) => metadata.min_gpu_memory_mb));
        const gpuUuids = servableGpus(seen)
          .filter(({ memoryMb }) => memoryMb >= minMemoryMb)
          .map(({ uuid }) => uuid);
        const healthy = gpuUuids.length;
        const gpus = options.gpus ?? healthy;
        if (gpus > healthy) throw tooFew(gpus, minMemoryMb, healthy, seen.discovery, seen.quarantined);
        output.status(
          `${tasks.length} tasks, ${gpus} of ${healthy} healthy GPUs, until ${options.minutes} min are over`,
        );
        const { complete, rows, run, left } = await runOnHost({
          tasks,
          pythonOf: (task) =>
            ensurePython({ packages: task.suite.python_packages, onProgress: (text) => output.status(text) }),
          executor: options.executor,
          signer,
          keys,
          out,
          repeats: options.repeats,
          gpus,
          gpuParallel: options.sideBySide && gpus > 0 ? Math.max(1, Math.floor(healthy / gpus)) : 1,
          gpuUuids: gpus === 0 ? [] : gpuUuids,
          untilRejected: options.untilRejected ?? false,
          steps: new Set(options.steps ?? hostRunSteps),
          again: options.steps !== undefined,
          acquireGpus: (count, own) => pool.acquire(count, { minMemoryMb, signal: own }),
          acquireElsewhere: (count, own) => elsewhere.acquire(count, { minMemoryMb, signal: own }),
          parallel: Math.max(1, Math.floor(availableParallelism() / ranksOf(tasks))),
          overheadRounds: options.rounds,
          untilMs,
          signal,
          say: (text) => output.status(text),
        });
        const table = hostRunTable(rows, run);
        await writeFile(tablePath, table);
        output.line(table);
        for (const { task, verdict } of rows) {
          for (const rule of verdict.rules.filter(({ ok, rule }) => !ok && (complete || !rule.startsWith("every ")))) {
            output.line(`${output.paint("red", "FAIL")}  ${task.metadata.slug}  ${rule.rule}: ${rule.found}`);
          }
        }
        for (const found of left) {
          output.line(`${output.paint("red", "FAIL")}  left on the host, unless something else ran there: ${found}`);
        }
        const holds =
          left.length === 0 &&
          failedSteps(run).size === 0 &&
          rows.every(({ verdict }) => (complete ? verdict.admitted : verdict.holds));
        output.line(complete ? "Everything was made." : `Some is left to make${leftOut(options.steps)}.`);
        output.result({
          complete,
          holds,
          left,
          run,
          verdicts: rows.map(({ task, verdict }) => ({ task: task.metadata.slug, ...verdict })),
        });
        if (!holds) return exitCodes.failed;
        return complete ? exitCodes.ok : exitCodes.incomplete;
      }),
    );
}
