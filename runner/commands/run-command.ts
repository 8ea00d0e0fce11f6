import { environment } from "../environment";
import { createOutput, exitCodes, Interrupted, type Output, type OutputStreams, reportError } from "../terminal/output";

const streams: OutputStreams = { stdout: process.stdout, stderr: process.stderr, noColor: environment.noColor };

/**
 * Runs a command: gives it an output and a signal that the first Ctrl-C or SIGTERM aborts (the second ends the process
 * at once), reports what it throws, and sets the exit code that it returns.
 */
export async function runCommand(
  options: { json?: boolean },
  command: (output: Output, signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const json = options.json === true;
  const output = createOutput(json, streams);
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort(new Interrupted());
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    process.exitCode = await command(output, controller.signal);
  } catch (error) {
    output.clearStatus();
    process.exitCode = reportError(controller.signal.aborted ? controller.signal.reason : error, json, streams);
  } finally {
    output.clearStatus();
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}
