import type { InterfaceEntry } from "@/lib/contract/task";

/** A line that a patch adds: where it stands in the new file, and its text. */
export type AddedLine = { file: string; line: number; text: string };

/** Lines that a unified diff in git's form adds, with their numbers in the new files. */
export function addedLines(patch: string): AddedLine[] {
  const added: AddedLine[] = [];
  let file = "";
  let next = 0;
  let left = 0;
  for (const line of patch.split("\n")) {
    const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk) {
      next = Number(hunk[1]);
      left = Number(hunk[2] ?? 1);
    } else if (left <= 0 && line.startsWith("+++ ")) {
      file = line.slice(4).replace(/^b\//, "").replace(/\t.*$/, "");
    } else if (left > 0 && line.startsWith("+")) {
      added.push({ file, line: next, text: line.slice(1) });
      next += 1;
      left -= 1;
    } else if (left > 0 && line.startsWith(" ")) {
      next += 1;
      left -= 1;
    }
  }
  return added;
}

/** Whether `word` stands in `text` as a word of its own. */
export function hasWord(text: string, word: string): boolean {
  let from = text.indexOf(word);
  while (from >= 0) {
    const before = text[from - 1] ?? " ";
    const after = text[from + word.length] ?? " ";
    if (!/\w/.test(before) && !/\w/.test(after)) return true;
    from = text.indexOf(word, from + 1);
  }
  return false;
}

const wordsOf = (text: string): string[] => text.match(/[A-Za-z_]\w*/g) ?? [];
const squeezed = (text: string): string => text.trim().replace(/\s+/g, " ");
const tokensOf = (text: string): string[] => text.match(/[A-Za-z_]\w*|\d+|[^\s\w]/g) ?? [];

/** Every identifier that the stated interfaces name: parts of symbols and words of signatures. */
function statedWords(interfaces: readonly InterfaceEntry[]): Set<string> {
  return new Set(interfaces.flatMap((entry) => [...entry.symbol.split("."), ...wordsOf(entry.signature)]));
}

/** Code of a Markdown text: fenced blocks and code spans. */
function codeOf(markdown: string): string {
  const fenced = markdown.match(/^```[\s\S]*?^```/gm) ?? [];
  const spans = markdown.replace(/^```[\s\S]*?^```/gm, "").match(/`[^`\n]+`/g) ?? [];
  return [...fenced, ...spans].join("\n");
}

type Leak = { kind: "line" | "identifier" | "overlap"; text: string; promptLine: number; source: string };
export type LeakReport = { leaks: Leak[]; overlap: { shared: number; total: number; share: number } };

/** Length of the token sequences that prompt and gold are compared by. */
const ngramLength = 8;
/** Share of gold's token sequences that may stand in the prompt. */
const overlapLimit = 0.02;

const declaration = /^(?:async def |def |class |@|from |import |[A-Za-z_]\w*\s*[:=])/;

/**
 * What a prompt tells of gold: whole lines of its code, identifiers that it brings in new and that are no stated
 * interface, and sequences of `ngramLength` tokens. Declarations of stated interfaces are no leak.
 * @param added gold's added lines of code, without comments and docstrings
 * @param goldNew identifiers that gold's sources have and base's lack
 * @param baseText all source text of the base
 */
export function findLeaks(
  prompt: string,
  added: readonly AddedLine[],
  goldNew: ReadonlySet<string>,
  interfaces: readonly InterfaceEntry[],
  baseText: string,
): LeakReport {
  const stated = statedWords(interfaces);
  const promptLines = prompt.split("\n");
  const squeezedPrompt = promptLines.map(squeezed);
  const baseLines = new Set(baseText.split("\n").map(squeezed));
  const leaks: Leak[] = [];
  const isStated = (line: AddedLine): boolean =>
    declaration.test(squeezed(line.text)) && wordsOf(line.text).every((word) => !goldNew.has(word) || stated.has(word));
  const unstated = added.filter((line) => !isStated(line));
  for (const line of unstated) {
    const text = squeezed(line.text);
    if (text.length < 12 || !/[A-Za-z_]\w*\W+\w/.test(text) || baseLines.has(text)) continue;
    const at = squeezedPrompt.findIndex((promptLine) => promptLine.includes(text));
    if (at >= 0) leaks.push({ kind: "line", text, promptLine: at + 1, source: `${line.file}:${line.line}` });
  }
  const code = codeOf(prompt);
  for (const name of goldNew) {
    if (stated.has(name) || name.length < 3) continue;
    const distinctive = /_[A-Za-z]|[a-z][A-Z]|\d/.test(name.replace(/^_+/, ""));
    if (!hasWord(distinctive ? prompt : code, name)) continue;
    const at = promptLines.findIndex((line) => hasWord(line, name));
    const definedAt = added.find((line) => hasWord(line.text, name));
    leaks.push({
      kind: "identifier",
      text: name,
      promptLine: at + 1,
      source: definedAt ? `${definedAt.file}:${definedAt.line}` : "gold",
    });
  }
  const overlap = ngramOverlap(promptLines, unstated, baseText, interfaces);
  if (overlap.share > overlapLimit) leaks.push(...overlap.leaks);
  return { leaks, overlap: { shared: overlap.shared, total: overlap.total, share: overlap.share } };
}

function ngramsOf(tokens: readonly string[]): string[] {
  const grams: string[] = [];
  for (let start = 0; start + ngramLength <= tokens.length; start += 1) {
    grams.push(tokens.slice(start, start + ngramLength).join(" "));
  }
  return grams;
}

function ngramOverlap(
  promptLines: readonly string[],
  added: readonly AddedLine[],
  baseText: string,
  interfaces: readonly InterfaceEntry[],
): { shared: number; total: number; share: number; leaks: Leak[] } {
  const known = new Set([
    ...ngramsOf(tokensOf(baseText)),
    ...interfaces.flatMap((i) => ngramsOf(tokensOf(i.signature))),
  ]);
  const gold = new Map<string, AddedLine>();
  const placed = added.flatMap((line) => tokensOf(line.text).map((token) => ({ token, line })));
  for (const [index, gram] of ngramsOf(placed.map(({ token }) => token)).entries()) {
    const line = placed[index]?.line;
    if (line !== undefined && !known.has(gram) && !gold.has(gram)) gold.set(gram, line);
  }
  const promptTokens = promptLines.flatMap((text, index) =>
    tokensOf(text).map((token) => ({ token, line: index + 1 })),
  );
  const shared = new Map<string, Leak>();
  for (const [index, gram] of ngramsOf(promptTokens.map(({ token }) => token)).entries()) {
    const source = gold.get(gram);
    if (source === undefined || shared.has(gram)) continue;
    const promptLine = promptTokens[index]?.line ?? 0;
    shared.set(gram, { kind: "overlap", text: gram, promptLine, source: `${source.file}:${source.line}` });
  }
  const total = gold.size;
  return { shared: shared.size, total, share: total === 0 ? 0 : shared.size / total, leaks: [...shared.values()] };
}
