import { type Command, InvalidArgumentError } from "commander";
import type { RunnerExecutor } from "../grade-to-bundle";
import { ensurePython } from "../grading/python-runtime";
import { exploits } from "../selftest/exploits";
import { runSelfTest } from "../selftest/selftest";
import { exitCodes, formatElapsed, formatTable } from "../terminal/output";
import { executorOption } from "./grade";
import { runCommand } from "./run-command";

const named = (value: string, earlier: string[] | undefined): string[] => {
  if (exploits.some((exploit) => exploit.name === value)) return [...(earlier ?? []), value];
  throw new InvalidArgumentError(`one of: ${exploits.map((exploit) => exploit.name).join(", ")}`);
};

/** `runner selftest`: exit 0 where every exploit is caught and the honest control resolves, 1 where not. */
export function registerSelftest(program: Command): void {
  program
    .command("selftest")
    .description("attack the grader on this host with patches that cheat, and show what came of each")
    .addOption(executorOption())
    .option("--only <name>", "run this exploit only; may be repeated", named)
    .option("--json", "one JSON document on stdout")
    .action((options: { executor: RunnerExecutor; only?: string[]; json?: boolean }) =>
      runCommand(options, async (output, signal) => {
        const python = await ensurePython();
        output.status("grading the honest control");
        const { controlResolved, results } = await runSelfTest({
          executor: options.executor,
          python,
          signal,
          ...(options.only === undefined ? {} : { only: options.only }),
          onResult: (result, done, total) => output.status(`${done}/${total}  ${result.name}: ${result.verdict}`),
        });
        const paints = { prevented: "green", detected: "green", passed: "red" } as const;
        const rows = results.map((result) => [
          output.paint(paints[result.verdict], result.verdict),
          result.name,
          result.tries,
          result.seen,
          formatElapsed(result.durationMs),
        ]);
        output.line(formatTable(["verdict", "exploit", "what it tries", "what was seen", "time"], rows));
        const passed = results.filter((result) => result.verdict === "passed").length;
        output.line();
        output.line(
          controlResolved
            ? `${results.length - passed} of ${results.length} exploits caught; the honest control resolves.`
            : "The honest control does not resolve: this grader fails everything, which proves nothing.",
        );
        output.result({ executor: options.executor, controlResolved, results });
        return passed === 0 && controlResolved ? exitCodes.ok : exitCodes.failed;
      }),
    );
}
