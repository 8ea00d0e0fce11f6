import type { Command } from "commander";
import { ensurePython } from "../grading/python-runtime";
import { type CheckReport, checkTask } from "../suites/check";
import { readSuiteFile } from "../suites/load";
import { sealTask } from "../suites/seal";
import { exitCodes, formatTable, type Output } from "../terminal/output";
import { locateSuite, locateTask } from "./locate";
import { runCommand } from "./run-command";

type TaskOptions = { suite?: string; json?: boolean };

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

/** `runner task seal|check`. */
export function registerTask(program: Command): Command {
  const task = program.command("task").description("author tasks: seal, check, validate");
  task
    .command("seal [tasks...]")
    .description("write the base's tree into task.toml and the digests of tests/ into tests/files.sha256")
    .option("--suite <dir>", "suite that the tasks are of; all its tasks where none is named")
    .option("--json", "one JSON document on stdout")
    .action((names: string[], options: TaskOptions) =>
      runCommand(options, async (output) => {
        const seals = [];
        for (const dir of await tasksOf(names, options.suite)) seals.push(await sealTask(dir));
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
    .option("--json", "one JSON document on stdout")
    .action((names: string[], options: TaskOptions) =>
      runCommand(options, async (output) => {
        const python = await ensurePython();
        const reports: CheckReport[] = [];
        for (const dir of await tasksOf(names, options.suite)) {
          output.status(`checking ${dir}`);
          const report = await checkTask(dir, { python: python.executable });
          reports.push(report);
          showCheck(output, report);
        }
        output.result({ reports });
        return reports.every((report) => report.ok) ? exitCodes.ok : exitCodes.failed;
      }),
    );
  return task;
}
