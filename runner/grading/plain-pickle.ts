/** What a pickle of plain containers holds. Tuples are arrays, dicts are maps; integers beyond 2^53 lose precision. */
export type PlainValue = null | boolean | number | string | PlainValue[] | Map<PlainValue, PlainValue>;

const mark = Symbol("mark");
type Slot = PlainValue | typeof mark;

/** Beyond this many steps a pickle is no record of collectives. */
const maxSteps = 2_000_000;

export class PickleError extends Error {
  override readonly name = "PickleError";
}

/**
 * Reads a pickle that holds nothing but dicts, lists, tuples, texts, numbers, booleans and None, which is what torch's
 * flight recorder writes (protocol 2). Every other opcode, first of all those that name or call something, throws a
 * `PickleError`: nothing that a pickle says is ever executed. Values may share parts and hold themselves, so a reader
 * walks them with a bound.
 */
export function readPlainPickle(bytes: Buffer): PlainValue {
  return new Reader(bytes).read();
}

class Reader {
  private readonly bytes: Buffer;
  private at = 0;
  private readonly stack: Slot[] = [];
  private readonly memo = new Map<number, PlainValue>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  read(): PlainValue {
    for (let step = 0; step < maxSteps; step += 1) {
      const opcode = String.fromCharCode(this.byte());
      if (opcode === ".") return this.pop();
      this.apply(opcode);
    }
    throw new PickleError(`more than ${maxSteps} steps`);
  }

  private take(length: number): Buffer {
    if (length < 0 || this.at + length > this.bytes.length) throw new PickleError("the pickle ends early");
    const part = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return part;
  }

  private byte(): number {
    return this.take(1)[0] ?? 0;
  }

  private pop(): PlainValue {
    const value = this.stack.pop();
    if (value === undefined || value === mark) throw new PickleError("a value is missing");
    return value;
  }

  private top(): PlainValue {
    const value = this.stack.at(-1);
    if (value === undefined || value === mark) throw new PickleError("a value is missing");
    return value;
  }

  /** Values above the last mark; both leave the stack. */
  private marked(): PlainValue[] {
    const from = this.stack.lastIndexOf(mark);
    if (from < 0) throw new PickleError("a mark is missing");
    return (this.stack.splice(from) as PlainValue[]).slice(1);
  }

  private tuple(length: number): PlainValue[] {
    return Array.from({ length }, () => this.pop()).reverse();
  }

  private list(): PlainValue[] {
    const list = this.top();
    if (!Array.isArray(list)) throw new PickleError("something is appended to what is no list");
    return list;
  }

  private setItems(pairs: readonly PlainValue[]): void {
    const dict = this.top();
    if (!(dict instanceof Map)) throw new PickleError("an item is set in what is no dict");
    for (let index = 0; index + 1 < pairs.length; index += 2) dict.set(pairs[index] ?? null, pairs[index + 1] ?? null);
  }

  private recall(index: number): PlainValue {
    const value = this.memo.get(index);
    if (value === undefined) throw new PickleError(`memo ${index} is empty`);
    return value;
  }

  private apply(opcode: string): void {
    const { stack } = this;
    switch (opcode) {
      case "\x80": // PROTO
        this.byte();
        return;
      case "N":
        stack.push(null);
        return;
      case "\x88":
        stack.push(true);
        return;
      case "\x89":
        stack.push(false);
        return;
      case "K":
        stack.push(this.byte());
        return;
      case "M":
        stack.push(this.take(2).readUInt16LE());
        return;
      case "J":
        stack.push(this.take(4).readInt32LE());
        return;
      case "\x8a":
        stack.push(signed(this.take(this.byte())));
        return;
      case "G":
        stack.push(this.take(8).readDoubleBE());
        return;
      case "X":
        stack.push(this.take(this.take(4).readUInt32LE()).toString("utf8"));
        return;
      case "]":
        stack.push([]);
        return;
      case "}":
        stack.push(new Map());
        return;
      case ")":
        stack.push([]);
        return;
      case "(":
        stack.push(mark);
        return;
      case "t":
        stack.push(this.marked());
        return;
      case "\x85":
      case "\x86":
      case "\x87":
        stack.push(this.tuple(opcode.charCodeAt(0) - 0x84));
        return;
      case "a": {
        const value = this.pop();
        this.list().push(value);
        return;
      }
      case "e": {
        const values = this.marked();
        const list = this.list();
        for (const value of values) list.push(value);
        return;
      }
      case "s": {
        const value = this.pop();
        const key = this.pop();
        this.setItems([key, value]);
        return;
      }
      case "u":
        this.setItems(this.marked());
        return;
      case "q":
        this.memo.set(this.byte(), this.top());
        return;
      case "r":
        this.memo.set(this.take(4).readUInt32LE(), this.top());
        return;
      case "h":
        stack.push(this.recall(this.byte()));
        return;
      case "j":
        stack.push(this.recall(this.take(4).readUInt32LE()));
        return;
      default: {
        const code = opcode.charCodeAt(0).toString(16).padStart(2, "0");
        throw new PickleError(`opcode 0x${code} at byte ${this.at - 1} is none of plain containers`);
      }
    }
  }
}

/** A little-endian two's complement integer of any length. */
function signed(bytes: Buffer): number {
  let value = 0n;
  for (const [index, byte] of bytes.entries()) value |= BigInt(byte) << BigInt(8 * index);
  return Number(BigInt.asIntN(Math.max(8 * bytes.length, 1), value));
}
