import { InfraDevError } from "../contract/errors";
import { trajectoryLimits } from "../contract/trajectory";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const tooLarge = (where: string, what: string, rule: string) =>
  new InfraDevError("too-large", {
    code: "trajectory.size",
    message: what,
    where,
    rule,
    remedy: "shorten what tools print, leave token ids and log probabilities out, or split what one step holds",
  });

/**
 * Cuts a trajectory, as its bytes arrive, into the objects of the root's `steps` and the rest, in which `0` stands for
 * each of them. It knows strings and nesting and judges nothing else: step and rest are JSON for a parser to judge, so
 * that both together are taken if and only if the whole is.
 */
export class StepSplitter {
  /** Steps that are whole and were not taken yet. */
  private ready: Uint8Array[] = [];
  private rest: Uint8Array[] = [];
  private restBytes = 0;
  private step: Uint8Array[] | null = null;
  private stepBytes = 0;
  private bytes = 0;
  private steps = 0;
  private lists = 0;
  private depth = 0;
  private state: "string" | "between" = "between";
  /** Bytes of the next piece that an escape still covers. */
  private covered = 0;
  /** Of the root: the string that was read last, and the key whose value follows. */
  private word: Uint8Array[] = [];
  private key: string | null = null;
  private list: "steps" | "other" = "other";

  private readonly where: string;

  /** `where` names the file in what is refused. */
  constructor(where: string) {
    this.where = where;
  }

  /** Takes the next bytes and answers the steps that end in them. Throws what is too large or too deep. */
  push(chunk: Uint8Array): Uint8Array[] {
    this.bytes += chunk.length;
    const { fileBytes } = trajectoryLimits;
    if (this.bytes > fileBytes)
      throw tooLarge(this.where, `the trajectory has more than ${fileBytes} bytes`, `at most ${fileBytes} bytes`);
    let from = 0;
    let at = 0;
    while (at < chunk.length) {
      const byte = chunk[at] as number;
      if (this.state === "string") {
        at = this.skipString(chunk, at);
        continue;
      }
      if (byte === quote) {
        this.state = "string";
        this.word = [];
      } else if (byte === openBrace || byte === openBracket) {
        if (this.step === null && this.list === "steps" && this.depth === 2 && byte === openBrace) {
          this.keepRest(chunk.subarray(from, at));
          from = at;
          this.step = [];
        } else if (this.depth === 1 && byte === openBracket && this.key === "steps") {
          this.list = "steps";
          this.lists += 1;
        }
        this.depth += 1;
        if (this.depth > trajectoryLimits.depth) throw this.tooDeep();
      } else if (byte === closeBrace || byte === closeBracket) {
        this.depth -= 1;
        if (this.step !== null && this.depth === 2) {
          this.keepStep(chunk.subarray(from, at + 1));
          from = at + 1;
          this.endStep();
        } else if (this.depth === 1) this.list = "other";
      } else if (this.depth === 1 && byte === colon) this.key = decodeKey(this.word);
      else if (this.depth === 1 && byte === comma) this.key = null;
      else if (this.depth === 1 && !isSpace(byte)) this.word = [];
      at += 1;
    }
    if (this.step === null) this.keepRest(chunk.subarray(from));
    else this.keepStep(chunk.subarray(from));
    const { ready } = this;
    this.ready = [];
    return ready;
  }

  /**
   * The rest, with `0` for each step, how many there were, and how many arrays `steps` they stood in. A step that never
   * ends stands in the rest as it came.
   */
  end(): { rest: Uint8Array; steps: number; lists: number } {
    for (const part of this.step ?? []) this.keepRest(part);
    return { rest: join(this.rest), steps: this.steps, lists: this.lists };
  }

  private skipString(chunk: Uint8Array, start: number): number {
    let at = start + this.covered;
    this.covered = 0;
    while (at < chunk.length) {
      const end = chunk.indexOf(quote, at);
      const stop = end < 0 ? chunk.length : end;
      const escapeAt = chunk.subarray(at, stop).indexOf(backslash);
      if (escapeAt >= 0) {
        at += escapeAt + 2;
        this.covered = Math.max(0, at - chunk.length);
        continue;
      }
      if (end >= 0) this.state = "between";
      at = end < 0 ? chunk.length : end + 1;
      break;
    }
    if (this.depth === 1) this.word.push(copyOf(chunk.subarray(start, at)));
    return at;
  }

  private keepRest(part: Uint8Array): void {
    const { rootBytes } = trajectoryLimits;
    this.restBytes += part.length;
    if (this.restBytes > rootBytes)
      throw tooLarge(
        this.where,
        `what stands beside the steps has more than ${rootBytes} bytes`,
        `everything but the steps has at most ${rootBytes} bytes`,
      );
    if (part.length > 0) this.rest.push(copyOf(part));
  }

  private keepStep(part: Uint8Array): void {
    const { stepBytes } = trajectoryLimits;
    this.stepBytes += part.length;
    if (this.stepBytes > stepBytes)
      throw tooLarge(
        `${this.where}#steps.${this.steps}`,
        `the step has more than ${stepBytes} bytes`,
        `a step has at most ${stepBytes} bytes`,
      );
    this.step?.push(copyOf(part));
  }

  private endStep(): void {
    const { steps } = trajectoryLimits;
    this.ready.push(join(this.step ?? []));
    this.step = null;
    this.stepBytes = 0;
    this.steps += 1;
    if (this.steps > steps)
      throw tooLarge(`${this.where}#steps`, `there are more than ${steps} steps`, `at most ${steps} steps`);
    this.keepRest(zero);
  }

  private tooDeep(): InfraDevError {
    const { depth } = trajectoryLimits;
    return new InfraDevError("invalid", {
      code: "trajectory.depth",
      message: `objects and arrays are nested more than ${depth} deep`,
      where: this.list === "steps" ? `${this.where}#steps.${this.steps}` : this.where,
      rule: `a trajectory is nested at most ${depth} deep`,
      remedy: "put deep values into a file of their own, or write them as text",
    });
  }
}

const zero = new Uint8Array([0x30]);

/** Bytes of their own: a `slice` of what a file's stream gives is a view, by which a comma keeps 64 KiB in memory. */
const copyOf = (part: Uint8Array): Uint8Array => new Uint8Array(part);

function join(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A key as JSON spells it without its first quote; one that is no string is no key that is looked for. */
function decodeKey(word: readonly Uint8Array[]): string | null {
  try {
    return JSON.parse(`"${new TextDecoder().decode(join(word))}`) as string;
  } catch {
    return null;
  }
}
