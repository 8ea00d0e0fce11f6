#!/usr/bin/env node
import { Command, CommanderError } from "commander";
import { registerAttach } from "./commands/attach";
import { registerDoctor } from "./commands/doctor";
import { registerGrade } from "./commands/grade";
import { registerHostRun } from "./commands/host-run";
import { registerSelftest } from "./commands/selftest";
import { registerSuite } from "./commands/suite";
import { registerTask } from "./commands/task";
import { registerUpload } from "./commands/upload";
import { registerVerify } from "./commands/verify";
import { exitCodes } from "./terminal/output";
import { runnerVersion } from "./version";

const program = new Command("runner")
  .description("Grades patches of multi-GPU infrastructure tasks, and signs what it saw.")
  .version(runnerVersion)
  .showHelpAfterError("(runner <command> --help lists the options)")
  .addHelpText(
    "after",
    `
Exit codes:
  0    everything asked for holds
  1    the command ran, and what it checked does not hold (unresolved task, refused bundle, failed lint)
  2    wrong use, a malformed file, or an environment that cannot do it
  3    what was made holds, and something is left to make (host-run): the same command again goes on
  130  ended by Ctrl-C or SIGTERM, after cleaning up
  141  ended since nobody reads its output any more, after cleaning up`,
  )
  .exitOverride();

registerDoctor(program);
registerGrade(program);
registerAttach(program);
registerUpload(program);
registerVerify(program);
registerTask(program);
registerSuite(program);
registerSelftest(program);
registerHostRun(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.misuse;
}
