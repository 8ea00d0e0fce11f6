import { resolve } from "node:path";
import type { Command } from "commander";
import { examineHost } from "../doctor/examine";
import { exitCodes, type Output } from "../terminal/output";
import { runCommand } from "./run-command";

/** Where the runner keeps its key, its registration and its jobs, relative to where it is started. */
export const defaultDataDir = ".data/runner";

function markOf(output: Output, state: "ok" | "note" | "missing"): string {
  if (state === "ok") return output.paint("green", "ok     ");
  return state === "note" ? output.paint("dim", "note   ") : output.paint("red", "missing");
}

/** `runner doctor`: exit 0 where this host can grade in a sandbox, 1 where not. */
export function registerDoctor(program: Command): void {
  program
    .command("doctor")
    .description("say what this host can run, and what is missing with its remedy")
    .option("--data <dir>", "the runner's data folder", defaultDataDir)
    .option("--install-pytest", "where only pytest is missing, install it into the data folder first")
    .option("--json", "one JSON document on stdout")
    .action((options: { data: string; installPytest?: boolean; json?: boolean }) =>
      runCommand(options, async (output) => {
        output.status("looking at this host");
        const examination = await examineHost({
          dataDir: resolve(options.data),
          installPytest: options.installPytest === true,
        });
        for (const check of examination.checks) {
          output.line(`${markOf(output, check.state)}  ${check.label.padEnd(20)}  ${check.found}`);
          if (check.remedy !== null) output.line(`${" ".repeat(31)}→ ${check.remedy}`);
        }
        output.line();
        for (const { label, can, remedy } of examination.launches) {
          output.line(
            `${markOf(output, can ? "ok" : "note")}  can launch ${label}${remedy === null ? "" : `: no, ${remedy}`}`,
          );
        }
        output.line();
        output.line(examination.can.sentence);
        output.result(examination);
        return examination.can.gradeSandboxed ? exitCodes.ok : exitCodes.failed;
      }),
    );
}
