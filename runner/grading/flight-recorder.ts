import { isLibraryFile } from "./frames";
import { type PlainValue, readPlainPickle } from "./plain-pickle";

/** One collective as torch's flight recorder kept it. */
type RecordedCollective = {
  record: number | null;
  processGroup: string | null;
  name: string | null;
  /** Place in the sequence of the group's collectives; of its point-to-point operations where `isP2p`. */
  sequence: number | null;
  isP2p: boolean;
  state: string | null;
  inputSizes: string;
  inputDtypes: string;
  outputSizes: string;
  createdNs: number | null;
  startedNs: number | null;
  completedNs: number | null;
  timeoutMs: number | null;
  retired: boolean;
  /** Innermost first, at most eight. */
  frames: { file: string; line: number; function: string }[];
};

export type FlightRecording = {
  version: string | null;
  /** By process group: the last collective that was enqueued, started and completed. */
  status: { group: string; enqueued: number | null; started: number | null; completed: number | null }[];
  collectives: RecordedCollective[];
};

const maxCollectives = 256;
const maxFrames = 8;
const maxText = 200;

const field = (value: PlainValue | undefined, name: string): PlainValue | undefined =>
  value instanceof Map ? value.get(name) : undefined;
const text = (value: PlainValue | undefined): string | null =>
  typeof value === "string" ? value.slice(0, maxText) : null;
const number = (value: PlainValue | undefined): number | null => (typeof value === "number" ? value : null);
const list = (value: PlainValue | undefined): PlainValue[] => (Array.isArray(value) ? value : []);

/** Lists of numbers or words as they are written, cut at a length: `[[4, 3], [4]]`. */
function brief(value: PlainValue | undefined): string {
  let result = "";
  const write = (part: PlainValue | undefined, depth: number): void => {
    if (result.length > maxText) return;
    if (!Array.isArray(part) || depth > 4) {
      result += typeof part === "number" || typeof part === "string" ? String(part).slice(0, maxText) : "?";
      return;
    }
    result += "[";
    for (const [index, entry] of part.slice(0, 64).entries()) {
      if (index > 0) result += ", ";
      write(entry, depth + 1);
    }
    result += "]";
  };
  write(value, 0);
  return result.length > maxText ? `${result.slice(0, maxText)}...` : result;
}

/**
 * Reads a dump of torch's flight recorder. Throws a `PickleError` where it holds more than plain containers or is cut,
 * which a candidate that wrote the file itself can bring about: what it says is evidence beside a failure, no verdict.
 */
export function readFlightRecording(bytes: Buffer): FlightRecording {
  const dump = readPlainPickle(bytes);
  const status = field(dump, "pg_status");
  return {
    version: text(field(dump, "version")),
    status: [...(status instanceof Map ? status : [])].slice(0, 64).map(([group, entry]) => ({
      group: text(group) ?? "?",
      enqueued: number(field(entry, "last_enqueued_collective")),
      started: number(field(entry, "last_started_collective")),
      completed: number(field(entry, "last_completed_collective")),
    })),
    collectives: list(field(dump, "entries")).slice(-maxCollectives).map(collectiveOf),
  };
}

function collectiveOf(entry: PlainValue): RecordedCollective {
  const isP2p = field(entry, "is_p2p") === true;
  const group = list(field(entry, "process_group")).map((part) => text(part) ?? "?");
  return {
    record: number(field(entry, "record_id")),
    processGroup: group.length > 0 ? group.join(" ") : null,
    name: text(field(entry, "profiling_name")),
    sequence: number(field(entry, isP2p ? "p2p_seq_id" : "collective_seq_id")),
    isP2p,
    state: text(field(entry, "state")),
    inputSizes: brief(field(entry, "input_sizes")),
    inputDtypes: brief(field(entry, "input_dtypes")),
    outputSizes: brief(field(entry, "output_sizes")),
    createdNs: number(field(entry, "time_created_ns")),
    startedNs: number(field(entry, "time_discovered_started_ns")),
    completedNs: number(field(entry, "time_discovered_completed_ns")),
    timeoutMs: number(field(entry, "timeout_ms")),
    retired: field(entry, "retired") === true,
    frames: list(field(entry, "frames"))
      .slice(0, maxFrames)
      .map((frame) => ({
        file: text(field(frame, "filename")) ?? "?",
        line: number(field(frame, "line")) ?? 0,
        function: text(field(frame, "name")) ?? "?",
      })),
  };
}

/** The collectives that had not completed, then the last that had: what a reader of a hang looks for. */
export function excerptOf(recording: FlightRecording): string {
  const open = recording.collectives.filter(
    (entry) => entry.state !== "completed" && !entry.retired && !isOfBatch(entry, recording.collectives),
  );
  const done = recording.collectives.filter(({ state, retired }) => state === "completed" || retired).at(-1);
  const lines = [
    ...recording.status.map(
      ({ group, enqueued, started, completed }) =>
        `process group ${group}: last enqueued ${enqueued ?? "none"}, started ${started ?? "none"}, completed ${completed ?? "none"}`,
    ),
    open.length === 0 ? "no collective was under way" : `under way: ${open.length}`,
    ...open.slice(0, 5).flatMap(linesOf),
    ...(done === undefined ? [] : ["last one that was over:", ...linesOf(done).slice(0, 1)]),
  ];
  return lines.join("\n");
}

/** Whether the excerpt of a recording (`excerptOf`) names a collective that had not completed. */
export const namesOpenCollective = (excerpt: string): boolean => /^under way: /m.test(excerpt);

/**
 * Whether an entry is one transfer of a batch (`batch_isend_irecv`). Torch notes such transfers when they are asked for
 * and never looks at them again: how far they are stands in the batch's own entry, which has their sequence.
 */
function isOfBatch(entry: RecordedCollective, all: readonly RecordedCollective[]): boolean {
  const isBatch = ({ name }: RecordedCollective): boolean => /:coalesced$/.test(name ?? "");
  if (!entry.isP2p || isBatch(entry)) return false;
  return all.some(
    (other) => isBatch(other) && other.processGroup === entry.processGroup && other.sequence === entry.sequence,
  );
}

function linesOf(entry: RecordedCollective): string[] {
  const own = entry.frames.find((frame) => !isLibraryFile(frame.file));
  return [
    `${entry.name ?? "?"} ${entry.isP2p ? "p2p " : ""}sequence ${entry.sequence ?? "?"} of group ${entry.processGroup ?? "?"}: ${entry.state ?? "?"}, input ${entry.inputSizes} ${entry.inputDtypes}, output ${entry.outputSizes}`,
    ...(own === undefined ? [] : [`  called at ${own.file}:${own.line} in ${own.function}`]),
  ];
}
