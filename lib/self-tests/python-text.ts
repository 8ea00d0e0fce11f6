/**
 * Python source without what its strings and comments say: every string becomes `""`, every comment nothing. Lines stay
 * lines, so that indentation and order can be read. A string that never ends takes the rest of the text, one of a single
 * line the rest of its line.
 */
export function withoutStringsAndComments(source: string): string {
  const pattern =
    /#[^\n]*|("""|''')(?:[^\\"']+|\\[\s\S]|(?!\1)["'])*(?:\1|\\?$)|(["'])(?:[^\\\n"']+|\\[\s\S]|(?!\2)["'])*(?:\2|(?=\n)|\\?$)/g;
  return source.replaceAll(pattern, (found) =>
    found.startsWith("#") ? "" : `""${"\n".repeat(found.split("\n").length - 1)}`,
  );
}

const opening = /[([{]/g;
const closing = /[)\]}]/g;
/** Starts a statement whatever was open before: a hunk may hold half of a pair. */
const statement = /^\s*(?:@|(?:async\s+)?def\s|class\s|import\s|from\s)/;

/** Longer lines and statements are read up to here. */
export const longestLine = 2000;

/** Lines whose brackets are open join the next ones: one statement a line, with the indentation of its first. */
export function logicalLines(source: string): string[] {
  const lines: string[][] = [];
  let depth = 0;
  for (const line of source.split("\n")) {
    if (statement.test(line)) depth = 0;
    const previous = depth > 0 ? lines.at(-1) : undefined;
    if (previous) previous.push(line.trim());
    else lines.push([line]);
    depth = Math.max(0, depth + (line.match(opening)?.length ?? 0) - (line.match(closing)?.length ?? 0));
  }
  return lines.map((parts) => parts.join(" ").slice(0, longestLine)).filter((line) => line.trim() !== "");
}
