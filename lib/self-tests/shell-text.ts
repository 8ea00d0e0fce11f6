/** One simple command of a shell's text: what is run, without what surrounds it. */
export interface SimpleCommand {
  /** Words without their quotes; assignments before the program stand among them. */
  words: string[];
  /** Text that it reads: a here-document or a here-string. */
  input: string | null;
  /** File that its output is written to. */
  writes: string | null;
  /** Variables of the loops around it that take several values, of the innermost ones. */
  loops: string[];
}

/** Longer texts are read up to here. */
const longestCommand = 200_000;
/** Loops around a command that are looked at. */
const nearestLoops = 8;

interface Token {
  kind: "word" | "operator";
  text: string;
  /** Whether any of the word was quoted: `"do"` is no keyword. */
  quoted: boolean;
  input?: string;
}

const operator = /^(?:&&|\|\||;;|\|&|&>>|&>|<<<|<<-|<<|>>|>\||[<>]&|[|;&()<>])/;

/** Words and operators; quotes, escapes and `$(...)` are read, and nothing is expanded. Comments are left out. */
function tokens(source: string): Token[] {
  const found: Token[] = [];
  const awaiting: { token: Token; end: string; tabs: boolean }[] = [];
  let at = 0;
  const bodyOf = ({ end, tabs }: { end: string; tabs: boolean }): string => {
    const lines: string[] = [];
    while (at < source.length) {
      const stop = source.indexOf("\n", at);
      const line = source.slice(at, stop < 0 ? source.length : stop);
      at = stop < 0 ? source.length : stop + 1;
      if ((tabs ? line.replace(/^\t+/, "") : line) === end) break;
      lines.push(line);
    }
    return lines.join("\n");
  };
  while (at < source.length) {
    const character = source.charAt(at);
    if (character === "\n") {
      found.push({ kind: "operator", text: ";", quoted: false });
      at += 1;
      for (const document of awaiting.splice(0)) document.token.input = bodyOf(document);
    } else if (/\s/.test(character)) at += 1;
    else if (source.startsWith("\\\n", at)) at += 2;
    else if (character === "#") {
      const stop = source.indexOf("\n", at);
      at = stop < 0 ? source.length : stop;
    } else {
      const [mark] = operator.exec(source.slice(at, at + 3)) ?? [];
      if (mark) {
        found.push({ kind: "operator", text: mark, quoted: false });
        at += mark.length;
        continue;
      }
      const word = wordAt(source, at);
      at = word.end;
      const token: Token = { kind: "word", text: word.text, quoted: word.quoted };
      const before = found.at(-1);
      if (before?.kind === "operator" && (before.text === "<<" || before.text === "<<-"))
        awaiting.push({ token: before, end: word.text, tabs: before.text === "<<-" });
      found.push(token);
    }
  }
  return found;
}

/** One word from `start` on. A quote that never ends takes the rest. */
function wordAt(source: string, start: number): { text: string; quoted: boolean; end: number } {
  const parts: string[] = [];
  let quoted = false;
  let at = start;
  while (at < source.length) {
    const character = source.charAt(at);
    if (/[\s|;&()<>]/.test(character)) break;
    if (character === "'") {
      const stop = source.indexOf("'", at + 1);
      parts.push(source.slice(at + 1, stop < 0 ? source.length : stop));
      at = stop < 0 ? source.length : stop + 1;
      quoted = true;
    } else if (character === '"') {
      const [whole = ""] = /^"(?:[^"\\]+|\\[\s\S])*"?/.exec(source.slice(at)) ?? [];
      parts.push(
        whole.slice(1, whole.length > 1 && whole.endsWith('"') ? -1 : undefined).replaceAll(/\\(["\\$`\n])/g, "$1"),
      );
      at += whole.length;
      quoted = true;
    } else if (character === "\\") {
      parts.push(source.charAt(at + 1) === "\n" ? "" : source.charAt(at + 1));
      at += 2;
    } else if (source.startsWith("$(", at)) {
      const stop = closingParenthesis(source, at + 1);
      parts.push(source.slice(at, stop));
      at = stop;
    } else {
      parts.push(character);
      at += 1;
    }
  }
  return { text: parts.join(""), quoted, end: Math.max(at, start + 1) };
}

function closingParenthesis(source: string, open: number): number {
  let depth = 0;
  for (let at = open; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return source.length;
}

const separators = new Set(["&&", "||", ";", ";;", "|", "|&", "&", "(", ")"]);
const leading = new Set(["do", "then", "else", "if", "elif", "while", "until", "!", "{", "}"]);

/** Every simple command of a shell's text, in its order, those of loops and branches too. */
export function simpleCommands(source: string): SimpleCommand[] {
  const found: SimpleCommand[] = [];
  const loops: { variable: string | null }[] = [];
  let current: SimpleCommand = { words: [], input: null, writes: null, loops: [] };
  let redirect: string | null = null;
  const finish = () => {
    const { words } = current;
    const [, variable = "", ...rest] = words;
    if (words[0] === "for") {
      const values = rest[0] === "in" ? rest.slice(1) : [];
      // One word may stand for several: a range, or what `seq` prints. Files are no settings of one test.
      const settings = values.filter((value) => !/[/*?]|\.py$/.test(value));
      const several = settings.length > 1 || settings.some((value) => /^\{.*\}$|^\$\(seq\b/.test(value));
      loops.push({ variable: several && /^[A-Za-z_]\w{0,80}$/.test(variable) ? variable : null });
    } else if (words.length > 0 || current.input !== null)
      found.push({ ...current, loops: loops.slice(-nearestLoops).flatMap((loop) => loop.variable ?? []) });
    current = { words: [], input: null, writes: null, loops: [] };
    redirect = null;
  };
  for (const token of tokens(source.slice(0, longestCommand))) {
    if (token.kind === "operator") {
      if (separators.has(token.text)) finish();
      else {
        redirect = token.text;
        if (token.input !== undefined) current.input = token.input;
      }
    } else if (redirect !== null) {
      if (redirect === "<<<") current.input = token.text;
      else if (redirect.startsWith(">") || redirect.startsWith("&>")) current.writes = token.text;
      redirect = null;
    } else if (current.words.length === 0 && !token.quoted && leading.has(token.text)) {
      if (token.text === "while" || token.text === "until") loops.push({ variable: null });
    } else if (current.words.length === 0 && !token.quoted && token.text === "done") loops.pop();
    else if (current.words.length > 0 || token.text !== "") current.words.push(token.text);
  }
  finish();
  return found;
}
