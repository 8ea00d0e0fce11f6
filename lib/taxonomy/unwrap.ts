import type { FailureDetail, Frame } from "@/lib/contract/result";

/** What the rules and the signature read of a failure. */
export type FailureFacts = Pick<FailureDetail, "exceptionType" | "mro" | "message" | "frames" | "activeCheck">;

/** A failure without what only carried it here. */
export type UnwrappedFailure = FailureFacts & {
  /** Where `message` begins in the carrying message; null where nothing carried it. */
  carriedAt: number | null;
};

/** `torch.cuda.OutOfMemoryError` is `OutOfMemoryError`. */
export const lastName = (qualified: string): string => qualified.slice(qualified.lastIndexOf(".") + 1);

/** Errors that say no more than that another process or task failed; their text may hold what that one raised. */
const carrier =
  /^(?:ProcessRaisedException|ProcessExitedException|ChildFailedError|CalledProcessError|RayTaskError(?:\(\w+\))?|(?:Base)?ExceptionGroup|RemoteTraceback|_RemoteTraceback|RemoteError|WorkerError|ActorDiedError)$/;

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

/** The part of a carrying message that holds the failure that explains the others. */
function decidingPart(name: string, message: string): { text: string; from: number } {
  if (name === "ChildFailedError") {
    const root = message.search(/Root Cause \(first observed failure\)/);
    if (root >= 0) return { text: message.slice(root), from: root };
  }
  if (/ExceptionGroup$/.test(name)) {
    // The first member: from its ruler to the next one.
    const first = /^[ \t|]{0,40}\+-\+?-+ 1 -+[ \t]*$/m.exec(message);
    if (first) {
      const from = first.index + first[0].length;
      const next = message.slice(from).search(/^[ \t|]{0,40}\+-+ 2 -+[ \t]*$/m);
      return { text: next < 0 ? message.slice(from) : message.slice(from, from + next), from };
    }
  }
  return { text: message, from: 0 };
}

/** What a carrying message holds, or null where it names no exception. */
function carried(name: string, failure: FailureFacts, base: number): UnwrappedFailure | null {
  const { text, from } = decidingPart(name, failure.message);
  const header = [...text.matchAll(tracebackHeader)].at(-1);
  const firstFrame = text.search(/File "[^"\n]+", line \d+, in /);
  const start = header ? header.index : firstFrame;
  const lastFrame = [...text.matchAll(frameLine)].at(-1)?.index ?? start;
  const lines = [...text.matchAll(errorLine)];
  // Without a traceback the last line that names an exception is what was printed of it.
  const found = start < 0 ? lines.at(-1) : lines.find(({ index }) => index > lastFrame);
  if (!found) return null;
  const [matched, type = ""] = found;
  const messageFrom = found.index + matched.length;
  const rest = text.slice(messageFrom);
  const end = rest.search(messageEnd);
  const message = (end < 0 ? rest : rest.slice(0, end)).trimEnd();
  const name_ = lastName(type);
  return {
    exceptionType: type,
    mro: [type, ...(basesOf[name_] ?? [])],
    message,
    frames: start < 0 ? [] : framesOf(text.slice(start, messageFrom)),
    activeCheck: failure.activeCheck,
    carriedAt: base + from + messageFrom,
  };
}

/**
 * Takes away what only carries a failure: torch's spawn and elastic launcher, `subprocess.CalledProcessError` with a
 * traceback in its output, Ray's task errors, exception groups. What is left is what the child process raised, with the
 * frames of its own traceback. A carrier whose text names no exception stays as it is.
 */
export function unwrapFailure(failure: FailureFacts): UnwrappedFailure {
  let inner: UnwrappedFailure = { ...failure, carriedAt: null };
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
