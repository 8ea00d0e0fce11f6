import { join, resolve } from "node:path";
import type { Command } from "commander";
import { InfraDevError } from "@/lib/contract/errors";
import { describeProgress, type RunnerExecutor } from "../grade-to-bundle";
import { ensurePython } from "../grading/python-runtime";
import { runSelfTest } from "../selftest/selftest";
import { type CheckReport, checkTask } from "../suites/check";
import { readValidation, runGate, writeValidation } from "../suites/gate-run";
import { type LoadedTask, loadTask, packagesOfTask, readSuiteFile } from "../suites/load";
import { sealTask } from "../suites/seal";
import { provideSources } from "../suites/upstream/sources";
import {
  exploitsOf,
  type GateVerdict,
  judge,
  maxRepeats,
  mergeValidations,
  parseShard,
  requireGradedPatches,
  type Validation,
} from "../suites/validate";
import { exitCodes, formatElapsed, formatTable, type Output } from "../terminal/output";
import { defaultDataDir } from "./doctor";
import { keysOfReports, reportKeysOption } from "./given-keys";
import { executorOption } from "./grade";
import { locateSuite, locateTask } from "./locate";
import { mirrorOption, mirrorsOf } from "./mirror-option";
import { runCommand } from "./run-command";

type TaskOptions = { suite?: string; mirror?: string[]; json?: boolean };

/** The tasks named, or every task of the suite where none is named. */
async function tasksOf(names: readonly string[], suite: string | undefined): Promise<string[]> {
  if (names.length > 0) return names.map((name) => locateTask(name, suite));
  const dir = locateSuite(suite);
  return (await readSuiteFile(dir)).tasks.map((slug) => locateTask(slug, dir));
}

function showCheck(output: Output, report: CheckReport): void {
  const { facts } = report;
  const mark = report.ok ? output.paint("green", "ok") : output.paint("red", "refused");
  output.line(`${output.paint("bold", report.task)}: ${mark}`);
  for (const finding of report.findings) {
    const level = finding.level === "error" ? output.paint("red", "error") : output.paint("yellow", "warning");
    output.line(`  ${level} [${finding.rule}] ${finding.where}`);
    output.line(`    ${finding.message}`);
    output.line(`    remedy: ${finding.remedy}`);
  }
  const share = (100 * facts.promptOverlap.share).toFixed(1);
  output.line(
    `  ${facts.probeSymbols} symbols used by probes, ${facts.statedInterfaces} interfaces stated, ` +
      `${facts.collectedIds} tests collected, ${facts.patches} patches apply-checked, prompt shares ${share} % of gold's token sequences`,
  );
}

type ValidateOptions = TaskOptions & {
  executor: RunnerExecutor;
  repeats: string;
  shard: string;
  out: string;
  key: string;
  keys?: string;
  merge?: string[];
};

function showValidation(output: Output, task: LoadedTask, verdict: GateVerdict): void {
  const admitted = verdict.admitted ? output.paint("green", "admitted") : output.paint("red", "not admitted");
  output.line();
  output.line(`${output.paint("bold", task.metadata.slug)}: ${admitted}`);
  for (const rule of verdict.rules) {
    output.line(
      `  ${rule.ok ? output.paint("green", "ok  ") : output.paint("red", "FAIL")}  ${rule.rule}: ${rule.found}`,
    );
  }
  output.line();
  const rows = verdict.tests.map((test) => [
    test.id,
    test.property,
    test.medianMs === null ? null : Math.round(test.medianMs),
    test.peakMemoryMb === null ? null : Math.round(test.peakMemoryMb),
    `${(100 * test.flakeRate).toFixed(0)} %`,
    test.rejects.map((name) => name.replace("mutant-", "")).join(" "),
  ]);
  output.line(formatTable(["test", "property", "median ms", "peak MB", "flake", "rejects mutants"], rows));
}

async function validate(
  names: string[],
  options: ValidateOptions,
  output: Output,
  signal: AbortSignal,
): Promise<number> {
  const repeats = Number(options.repeats);
  if (!Number.isInteger(repeats) || repeats < 1 || repeats > maxRepeats) {
    throw new InfraDevError("invalid", {
      code: "usage.repeats",
      message: `'${options.repeats}' is no number of repeats`,
      where: "--repeats",
      rule: `gold is graded at least once, at most ${maxRepeats} times; the gate asks for 5`,
      remedy: "for example --repeats 5",
    });
  }
  const shard = parseShard(options.shard);
  const { signer, keys } = await keysOfReports(resolve(options.key), options.keys, signal);
  const dirs = await tasksOf(names, options.suite);
  const suffix = shard.count === 1 ? "" : `.${shard.index}-of-${shard.count}`;
  const outOf = (task: LoadedTask) => join(resolve(options.out), `${task.metadata.slug}${suffix}.validation.json`);
  const verdicts: (GateVerdict & { task: string; report: string })[] = [];
  const conclude = (task: LoadedTask, report: Validation, path: string): void => {
    const verdict = judge(task, report);
    showValidation(output, task, verdict);
    output.line(`report: ${path}`);
    verdicts.push({ ...verdict, task: task.metadata.slug, report: path });
  };
  if (options.merge !== undefined) {
    const reports = await Promise.all(options.merge.map((file) => readValidation(resolve(file), keys)));
    for (const dir of dirs) {
      const task = await loadTask(dir);
      const own = reports.filter((report) => report.task === task.metadata.slug);
      if (own.length === 0) continue;
      const merged = mergeValidations(own);
      if (merged.gradingDigest !== task.manifest.digests.grading) {
        throw new InfraDevError("conflict", {
          code: "validation.other-task",
          message: `the reports are of '${merged.task}' with another grading digest`,
          where: task.dir,
          rule: "a validation admits the task that it graded",
          remedy: "validate the task as it is now",
        });
      }
      await provideSources(task, mirrorsOf(options));
      await requireGradedPatches(task, merged);
      const path = join(resolve(options.out), `${task.metadata.slug}.validation.json`);
      await writeValidation(path, merged, signer);
      conclude(task, merged, path);
    }
  } else {
    const { executor } = options;
    let exploits: Promise<Validation["exploits"]> | null = null;
    const runExploits = async (): Promise<Validation["exploits"]> => {
      output.status("running the exploits of the self-test");
      const python = await ensurePython();
      return exploitsOf(await runSelfTest({ executor, python, signal }));
    };
    for (const dir of dirs) {
      const task = await loadTask(dir);
      await provideSources(task, mirrorsOf(options));
      const { slug } = task.metadata;
      const path = outOf(task);
      const report = await runGate(task, {
        repeats,
        shard,
        executor,
        python: await ensurePython({
          packages: task.suite.python_packages,
          onProgress: (text) => output.status(text),
        }),
        signer,
        keys,
        out: path,
        signal,
        exploits: async (known) => {
          if (known !== null) return known;
          exploits ??= runExploits();
          return await exploits;
        },
        onGrading: (item, event) => {
          const text = describeProgress(event);
          if (text !== null) output.live(`${slug}  ${item.patch} #${item.repeat}  ${text}`);
        },
        onGraded: (grading, done, total) => {
          const passed = grading.tests.filter((test) => test.status === "passed").length;
          const name = `${grading.patch} #${grading.repeat}`;
          output.status(
            `${slug}  ${done}/${total}  ${name}: ${grading.status}, ${passed}/${grading.tests.length} pass, ${formatElapsed(grading.durationMs)}`,
          );
        },
      });
      conclude(task, report, path);
    }
  }
  output.result({ validations: verdicts });
  const whole = shard.count === 1 || options.merge !== undefined;
  const holds = verdicts.every((verdict) => (whole ? verdict.admitted : verdict.holds));
  return verdicts.length > 0 && holds ? exitCodes.ok : exitCodes.failed;
}

/** `runner task seal|check|validate`. */
export function registerTask(program: Command): void {
  const task = program.command("task").description("author tasks: seal, check, validate");
  task
    .command("seal [tasks...]")
    .description("write the base's tree into task.toml and the digests of tests/ into tests/files.sha256")
    .option("--suite <dir>", "suite that the tasks are of; all its tasks where none is named")
    .addOption(mirrorOption())
    .option("--json", "one JSON document on stdout")
    .action((names: string[], options: TaskOptions) =>
      runCommand(options, async (output) => {
        const seals = [];
        for (const dir of await tasksOf(names, options.suite)) seals.push(await sealTask(dir, mirrorsOf(options)));
        output.line(
          formatTable(
            ["task", "files", "grading digest", "written"],
            seals.map((seal) => [
              seal.task,
              seal.files,
              seal.gradingDigest.slice(0, 16),
              seal.changed.join(", ") || "nothing",
            ]),
          ),
        );
        output.result({ seals });
        return exitCodes.ok;
      }),
    );
  task
    .command("check [tasks...]")
    .description("lint tasks: symbols of probes against prompt and interfaces, give-aways, ids, digests, patches")
    .option("--suite <dir>", "suite that the tasks are of; all its tasks where none is named")
    .addOption(mirrorOption())
    .option("--json", "one JSON document on stdout")
    .action((names: string[], options: TaskOptions) =>
      runCommand(options, async (output) => {
        const reports: CheckReport[] = [];
        for (const dir of await tasksOf(names, options.suite)) {
          const python = await ensurePython({
            packages: await packagesOfTask(dir),
            onProgress: (text) => output.status(text),
          });
          output.status(`checking ${dir}`);
          const report = await checkTask(dir, { python: python.executable, mirrors: mirrorsOf(options) });
          reports.push(report);
          showCheck(output, report);
        }
        output.result({ reports });
        return reports.every((report) => report.ok) ? exitCodes.ok : exitCodes.failed;
      }),
    );
  task
    .command("validate [tasks...]")
    .description("the gate: nop fails, gold passes every time, each mutant is rejected by a probe, exploits are caught")
    .option("--suite <dir>", "suite that the tasks are of; all its tasks where none is named")
    .addOption(mirrorOption())
    .addOption(executorOption())
    .option("--repeats <n>", "gradings of gold", "5")
    .option("--shard <i/n>", "make only every n-th grading, from the i-th on; merge the reports afterwards", "1/1")
    .option("--merge <files...>", "grade nothing; join reports of shards")
    .addOption(reportKeysOption())
    .option("--out <dir>", "where reports go", ".data/validations")
    .option("--key <file>", "key that signs the report (made where there is none)", join(defaultDataDir, "key.pem"))
    .option("--json", "one JSON document on stdout")
    .action((names: string[], options: ValidateOptions) =>
      runCommand(options, (output, signal) => validate(names, options, output, signal)),
    );
}
