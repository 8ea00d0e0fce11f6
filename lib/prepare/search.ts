import { searchQueryLimit } from "@/lib/contract/search-api";

/** Words of a query that are looked for at most. */
const mostWords = 8;

/** A query on one line: control and direction characters are spaces, and what is past the limit is cut. */
export function readSearchQuery(text: string | null | undefined): string {
  const line = (text ?? "")
    .slice(0, 8 * searchQueryLimit)
    .normalize("NFC")
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim();
  return [...line].slice(0, searchQueryLimit).join("").trim();
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];

/** The words of a query in lower case, each once: runs of letters and digits. */
export const searchWords = (query: string): string[] => [...new Set(wordsOf(query))].slice(0, mostWords);

/** The address of a query's results. */
export function searchHref(query: string): string {
  return query ? `/search?${new URLSearchParams({ q: query })}` : "/search";
}

/** The internal path under which a query's results are made and cached; its one segment holds any text. */
export function searchPath(query: string): string {
  return query ? `/search-results/${Buffer.from(query, "utf8").toString("base64url")}` : "/search";
}

/** Reads the segment of `searchPath`; null where it is not what that writes. */
export function parseSearchPath(segment: string): string | null {
  const query = readSearchQuery(Buffer.from(segment, "base64url").toString("utf8"));
  return query && searchPath(query) === `/search-results/${segment}` ? query : null;
}

/** A text in pieces, those that one of the words begins marked as hits. */
export function markWords(text: string, words: readonly string[]): { text: string; hit: boolean }[] {
  if (words.length === 0) return [{ text, hit: false }];
  const longestFirst = [...words].sort((a, b) => b.length - a.length);
  // a script without spaces has no beginnings of words to look for
  const start = (word: string) => (/^[\p{Script=Latin}\p{N}]/u.test(word) ? "(?<![\\p{L}\\p{N}])" : "");
  const pattern = new RegExp(`(${longestFirst.map((word) => `${start(word)}${word}`).join("|")})`, "giu");
  return text
    .split(pattern)
    .map((piece, index) => ({ text: piece, hit: index % 2 === 1 }))
    .filter((piece) => piece.text !== "");
}

/** A piece cut out of a longer Markdown text, on one line without marks of headings: broken words at its ends are left out and named by an ellipsis. */
export function excerptOf(piece: string, cut: { before: boolean; after: boolean }): string {
  const line = piece
    .replaceAll(/(^|\s)#+ /g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
  const from = cut.before ? line.indexOf(" ") + 1 : 0;
  const to = cut.after && line.lastIndexOf(" ") > from ? line.lastIndexOf(" ") : line.length;
  return `${cut.before ? "… " : ""}${line.slice(from, to)}${cut.after ? " …" : ""}`;
}

/** Things that have every word, by the beginnings of their own words: those whose first text does come first. */
export function matchTexts<T>(
  things: readonly T[],
  textsOf: (thing: T) => readonly string[],
  words: readonly string[],
) {
  if (words.length === 0) return [];
  return things
    .map((thing) => {
      const texts = textsOf(thing).map(wordsOf);
      const has = (word: string, text: readonly string[]) => text.some((own) => own.startsWith(word));
      const matches = words.every((word) => texts.some((text) => has(word, text)));
      return { thing, matches, inFirst: words.filter((word) => has(word, texts[0] ?? [])).length };
    })
    .filter(({ matches }) => matches)
    .sort((a, b) => b.inFirst - a.inFirst)
    .map(({ thing }) => thing);
}
