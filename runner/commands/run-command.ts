import { environment } from "../environment";
import {
  createOutput,
  exitCodes,
  Interrupted,
  type Output,
  type OutputStreams,
  ReaderGone,
  reportError,
} from "../terminal/output";

const streams: OutputStreams = { stdout: process.stdout, stderr: process.stderr, noColor: environment.noColor };

let running: AbortController | null = null;
/** Whether a write to stdout failed by more than a reader that went away. */
let unwritten = false;

// They stay, since a failed write is told of later, even after the command's end; `--help` is written without a command.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") {
    if (!unwritten) reportError(Object.assign(error, { path: "standard output" }), false, streams);
    unwritten = true;
    process.exitCode = exitCodes.misuse;
  }
  running?.abort(new ReaderGone());
});
// What is told on stderr is no result: the command goes on without.
process.stderr.on("error", () => undefined);

/**
 * Runs a command: gives it an output and a signal that the first Ctrl-C or SIGTERM aborts (the second ends the process
 * at once), as does a reader of stdout that goes away; reports what it throws, and sets the exit code that it returns.
 */
export async function runCommand(
  options: { json?: boolean },
  command: (output: Output, signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const json = options.json === true;
  const output = createOutput(json, streams);
  const controller = new AbortController();
  let told = false;
  const onSignal = (): void => {
    if (told) process.exit(exitCodes.interrupted);
    told = true;
    controller.abort(new Interrupted());
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  running = controller;
  let code: number;
  try {
    code = await command(output, controller.signal);
  } catch (error) {
    output.clearStatus();
    code = reportError(controller.signal.aborted ? controller.signal.reason : error, json, streams);
  } finally {
    output.clearStatus();
    running = null;
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
  process.exitCode = unwritten ? exitCodes.misuse : code;
}
