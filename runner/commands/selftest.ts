import { type Command, InvalidArgumentError } from "commander";
import { GpuPool, servableGpus } from "../gpus/pool";
import { describeQuarantine } from "../gpus/quarantine";
import type { RunnerExecutor } from "../grade-to-bundle";
import { ensurePython } from "../grading/python-runtime";
import { exploits } from "../selftest/exploits/all";
import { runSelfTest } from "../selftest/selftest";
import { exitCodes, formatElapsed, formatTable, visible } from "../terminal/output";
import { executorOption } from "./grade";
import { runCommand } from "./run-command";

const widest = 76;
const shown = 5;

/** Pairs of neighbouring letters that two names share, of all that they have: 1 for the same name, 0 for none. */
function likeness(a: string, b: string): number {
  const pairs = (name: string) => new Set(Array.from(name, (_, at) => `-${name}`.slice(at, at + 2)));
  const [ours, theirs] = [pairs(a), pairs(b)];
  return [...ours].filter((pair) => theirs.has(pair)).length / new Set([...ours, ...theirs]).size;
}

const named = (value: string, earlier: string[] | undefined): string[] => {
  const names = exploits.map((exploit) => exploit.name);
  if (names.includes(value)) return [...(earlier ?? []), value];
  const nearest = names.sort((a, b) => likeness(b, value) - likeness(a, value)).slice(0, shown);
  throw new InvalidArgumentError(`no exploit has this name; the nearest of ${names.length}: ${nearest.join(", ")}.`);
};

/** `runner selftest`: exit 0 where every exploit is caught and the honest control resolves, 1 where not. */
export function registerSelftest(program: Command): void {
  program
    .command("selftest")
    .description("attack the grader on this host with patches that cheat, and show what came of each")
    .addOption(executorOption())
    .option("--only <name>", "run this exploit only; may be repeated", named)
    .option("--json", "one JSON document on stdout")
    .addHelpText(
      "after",
      `
Each exploit ends as one of:
  prevented       what it tried had no effect on any outcome, nor on this machine
  detected        the grading is 'tampered' or 'patch-rejected', with evidence
  not-applicable  this host or executor lacks what the exploit attacks; the row says what
  passed          it got what it wanted

Exit codes:
  0  every exploit that applies here is caught, and the honest control resolves
  1  one passed, or the honest control does not resolve
  2  nothing can be graded here`,
    )
    .action((options: { executor: RunnerExecutor; only?: string[]; json?: boolean }) =>
      runCommand(options, async (output, signal) => {
        const python = await ensurePython();
        output.status("grading the honest control");
        const pool = new GpuPool({
          what: "self-test",
          onEvent: (event) => output.status(describeQuarantine(event)),
          onWait: (text) => output.status(text),
        });
        const servable = servableGpus(await pool.look());
        const gpus = servable.length === 0 ? null : await pool.acquire(1, { minMemoryMb: 0, signal });
        const { controlResolved, results } = await runSelfTest({
          executor: options.executor,
          python,
          signal,
          gpus,
          ...(options.only === undefined ? {} : { only: options.only }),
          onResult: (result, done, total) => output.status(`${done}/${total}  ${result.name}: ${result.verdict}`),
        }).finally(() => gpus?.release());
        const paints = { prevented: "green", detected: "green", passed: "red", "not-applicable": "dim" } as const;
        const rows = results.map((result) => [
          output.paint(paints[result.verdict], result.verdict),
          result.name,
          result.tries,
          visible(result.seen).slice(0, widest),
          result.verdict === "not-applicable" ? null : formatElapsed(result.durationMs),
        ]);
        output.line(formatTable(["verdict", "exploit", "what it tries", "what was seen", "time"], rows));
        const tried = results.filter((result) => result.verdict !== "not-applicable");
        const passed = tried.filter((result) => result.verdict === "passed").length;
        const left = results.length - tried.length;
        output.line();
        output.line(
          controlResolved
            ? `${tried.length - passed} of ${tried.length} exploits caught under '${options.executor}'` +
                `${left === 0 ? "" : `, ${left} not applicable here`}; the honest control resolves.`
            : "The honest control does not resolve: this grader fails everything, which proves nothing.",
        );
        output.result({ executor: options.executor, controlResolved, results });
        return passed === 0 && controlResolved ? exitCodes.ok : exitCodes.failed;
      }),
    );
}
