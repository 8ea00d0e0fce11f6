import type { FailureDetail, Frame } from "@/lib/contract/result";
import { communication, communicationClass } from "./words";

/** What the rules and the signature read of a failure. */
export type FailureFacts = Pick<FailureDetail, "exceptionType" | "mro" | "message" | "frames" | "activeCheck">;

/** A failure without what only carried it here. */
export type UnwrappedFailure = FailureFacts & {
  /** Where `message` begins in the carrying message; null where nothing carried it. */
  carriedAt: number | null;
};

/** `torch.cuda.OutOfMemoryError` is `OutOfMemoryError`. */
export const lastName = (qualified: string): string => qualified.slice(qualified.lastIndexOf(".") + 1);

/** `builtins.KeyError` is `KeyError`, whoever wrote the record. */
const withoutBuiltins = (qualified: string): string => qualified.replace(/^builtins\./, "");

/** Errors that say no more than that another process, task or compiled call failed; their text may hold what that one raised. */
const carrier =
  /^(?:ProcessRaisedException|ProcessExitedException|ChildFailedError|CalledProcessError|RayTaskError(?:\(\w+\))?|(?:Base)?ExceptionGroup|RemoteTraceback|_RemoteTraceback|RemoteError|WorkerError|ActorDiedError|RayActorError|CheckpointException|BackendCompilerFailed|InductorError|LoweringException)$/;

/** What launchers, Ray, pytest and exception groups put before each line. */
const gutter = String.raw`[ \t|+-]{0,40}`;
const prefix = String.raw`${gutter}(?:\[(?:rank|default)?\d+\]:?|\([\w.<>]+ (?:pid|rank)=\d+[^)\n]*\)|E {3,9})?${gutter}`;
const frameLine = new RegExp(
  String.raw`^${prefix}File "([^"\n]+)", line (\d+), in ([^\n]+)\n(?:${prefix}([^\n]*))?`,
  "gm",
);
const tracebackHeader = /Traceback \(most recent call last\):/g;
/** `package.module.SomeError: message`: a class by its ending, or by standing in a module. */
const errorLine = new RegExp(
  String.raw`^${prefix}((?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Failed|Group|Expired|Warning)(?:\(\w+\))?|Failed|Skipped)|(?:[A-Za-z_]\w*\.)+[A-Z]\w*)(?:: ?|(?=\n|$))`,
  "gm",
);
/** Where the text of a carried message ends at the latest. */
const messageEnd =
  /\n\s{0,40}\n(?:(?:During handling|The above exception)|raised (?:in|on) |one of \d+ exceptions|caused by )|\n[ \t|+]{0,40}(?:Traceback \(most|={8,}|-{8,}|\+-{4,}|-- Process|stdout:|stderr:|\[\d+\]:)/;

/** Bases of exceptions that are known by name only. */
const basesOf: Readonly<Record<string, readonly string[]>> = {
  ModuleNotFoundError: ["ImportError"],
  FileNotFoundError: ["OSError"],
  KeyError: ["LookupError"],
  IndexError: ["LookupError"],
  NotImplementedError: ["RuntimeError"],
  UnboundLocalError: ["NameError"],
  OutOfMemoryError: ["RuntimeError"],
  DistBackendError: ["DistError", "RuntimeError"],
  DistNetworkError: ["DistError", "RuntimeError"],
  DistStoreError: ["DistError", "RuntimeError"],
  ConnectionResetError: ["ConnectionError", "OSError"],
  BrokenPipeError: ["ConnectionError", "OSError"],
  ConnectionRefusedError: ["ConnectionError", "OSError"],
};

/** Whose code a file of another process's traceback is, as far as its path says. */
function originOf(file: string): Frame["origin"] {
  if (/\/(?:site|dist)-packages\/|\/lib\/python3|^<|\/(?:_pytest|pluggy)\//.test(file)) return "other";
  if (/(?:^|\/)probes?\//.test(file)) return "probe";
  return /(?:^|\/)(?:tests?|unit_tests)\/|(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$/.test(file)
    ? "test"
    : "project";
}

function framesOf(text: string): Frame[] {
  return [...text.matchAll(frameLine)].slice(-200).map(([, file = "", line = "0", name = "", code]) => ({
    file,
    line: Number(line),
    function: name.trim(),
    origin: originOf(file),
    code: code?.trim().slice(0, 400) || null,
  }));
}

type Part = { text: string; from: number };

/** What a compiler or a launcher adds behind the error that it carries. */
const appendix = /\n\s{0,40}(?:target: |from user code:|Set TORCH\w+=|You can suppress this)/;

/** The part of a carrying message that holds the failure that explains the others. */
function decidingPart(name: string, message: string): Part {
  if (name === "ChildFailedError") {
    const root = message.search(/Root Cause \(first observed failure\)/);
    if (root >= 0) return { text: message.slice(root), from: root };
  }
  if (/^(?:BackendCompilerFailed|InductorError|LoweringException)$/.test(name)) {
    const end = message.search(appendix);
    return { text: end < 0 ? message : message.slice(0, end), from: 0 };
  }
  return { text: message, from: 0 };
}

/** A text cut where each match begins; what stands before the first one is left out. */
function cutAt({ text, from }: Part, starts: readonly number[]): Part[] {
  return starts.map((start, index) => ({ text: text.slice(start, starts[index + 1]), from: from + start }));
}

const startsOf = (text: string, pattern: RegExp): number[] => [...text.matchAll(pattern)].map(({ index }) => index);

/**
 * What may each hold one exception: the members of a group by their rulers, else the tracebacks, else the lines that
 * name an exception.
 */
function parts(name: string, part: Part): Part[] {
  const rulers = /ExceptionGroup$/.test(name) ? startsOf(part.text, /^[ \t|]{0,40}\+-\+?-+ \d+ -+[ \t]*$/gm) : [];
  if (rulers.length > 0) return cutAt(part, rulers);
  const tracebacks = startsOf(part.text, tracebackHeader);
  if (tracebacks.length > 0) return cutAt(part, tracebacks);
  if (/File "[^"\n]+", line \d+, in /.test(part.text)) return [part];
  return cutAt(part, startsOf(part.text, errorLine));
}

/** The exception that a part names: behind its traceback where it has one. */
function parse({ text, from }: Part, activeCheck: FailureFacts["activeCheck"]): UnwrappedFailure | null {
  const header = text.search(tracebackHeader);
  const firstFrame = text.search(/File "[^"\n]+", line \d+, in /);
  const start = header >= 0 ? header : firstFrame;
  const lastFrame = [...text.matchAll(frameLine)].at(-1)?.index ?? start;
  const found = [...text.matchAll(errorLine)].find(({ index }) => index > lastFrame || start < 0);
  if (!found) return null;
  const [matched, type = ""] = found;
  const messageFrom = found.index + matched.length;
  const rest = text.slice(messageFrom);
  const end = rest.search(messageEnd);
  return {
    exceptionType: withoutBuiltins(type),
    mro: [type, ...(basesOf[lastName(type)] ?? [])],
    message: (end < 0 ? rest : rest.slice(0, end)).trimEnd(),
    frames: start < 0 ? [] : framesOf(text.slice(start, messageFrom)),
    activeCheck,
    carriedAt: from + messageFrom,
  };
}

/** What a process sees when another one is gone: of several failures it explains the least. */
const lostConnection = ({ mro, message }: UnwrappedFailure): boolean =>
  mro.some((name) => communicationClass.test(lastName(name))) ||
  (mro.some((name) => lastName(name) === "RuntimeError") && communication.test(message.split("\n", 1)[0] ?? ""));

/** What a carrying message holds, or null where it names no exception. */
function carried(name: string, failure: FailureFacts, base: number): UnwrappedFailure | null {
  const deciding = decidingPart(name, failure.message);
  const found = parts(name, { text: deciding.text, from: base + deciding.from })
    .map((part) => parse(part, failure.activeCheck))
    .filter((one) => one !== null);
  // The members of a group stand in their order; of chained tracebacks the last one is what was raised in the end.
  if (!/ExceptionGroup$/.test(name)) found.reverse();
  const raised = found.filter(({ exceptionType }) => !carrier.test(lastName(exceptionType ?? "")));
  return raised.find((one) => !lostConnection(one)) ?? raised[0] ?? found[0] ?? null;
}

/**
 * Takes away what only carries a failure: torch's spawn and elastic launcher, `subprocess.CalledProcessError` with a
 * traceback in its output, Ray's task errors, torch's compiler and distributed checkpoints, exception groups. What is left is what the child process raised, with the
 * frames of its own traceback. A carrier whose text names no exception stays as it is.
 */
export function unwrapFailure(failure: FailureFacts): UnwrappedFailure {
  let inner: UnwrappedFailure = {
    ...failure,
    exceptionType: failure.exceptionType === null ? null : withoutBuiltins(failure.exceptionType),
    carriedAt: null,
  };
  for (let depth = 0; depth < 4; depth++) {
    const names = [inner.exceptionType ?? "", ...inner.mro].map(lastName);
    const name = names.find((one) => carrier.test(one));
    if (name === undefined) return inner;
    const next = carried(name, inner, inner.carriedAt ?? 0);
    if (next === null) return inner;
    inner = next;
  }
  return inner;
}

/** The first line of a message that says something, at most 300 characters. */
export function tellingLine(message: string): string {
  const line = message.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one)) ?? "";
  return [...line.trim()].slice(0, 300).join("");
}
