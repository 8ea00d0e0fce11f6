/** What a formatted string puts between its texts, each in brackets: `(peak)` of `f"{peak:.1f} MiB"`. */
const interpolationsOf = (text: string) =>
  [...text.replaceAll("{{", "").matchAll(/\{([^{}\n]{1,200}?)(?:![rsa])?(?::[^{}]{0,80})?\}/g)]
    .map(([, expression = ""]) => `(${expression.replaceAll(/(["'])[^"']*\1/g, '""')})`)
    .join("");

/**
 * Python source without what its strings and comments say: every string becomes `""`, every comment nothing. Lines stay
 * lines, so that indentation and order can be read. A string that never ends takes the rest of the text, one of a single
 * line the rest of its line. With `keep`, the expressions of formatted strings stay.
 */
export function withoutStringsAndComments(source: string, keep?: "interpolations"): string {
  const pattern =
    /#[^\n]*|("""|''')(?:[^\\"']+|\\[\s\S]|(?!\1)["'])*(?:\1|\\?$)|(["'])(?:[^\\\n"']+|\\[\s\S]|(?!\2)["'])*(?:\2|(?=\n)|\\?$)/g;
  return source.replaceAll(pattern, (found, ...rest) => {
    if (found.startsWith("#")) return "";
    const at = rest.find((part) => typeof part === "number") as number;
    const formatted = keep && /f/i.test(/[a-z]{0,2}$/i.exec(source.slice(Math.max(0, at - 2), at))?.[0] ?? "");
    return `""${formatted ? interpolationsOf(found) : ""}${"\n".repeat(found.split("\n").length - 1)}`;
  });
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

/** Statements that stand on one line, one a line; what follows a colon stays with it. */
export function simpleStatements(lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    if (!line.includes(";")) return [line];
    const indent = " ".repeat(line.length - line.trimStart().length);
    return line
      .split(";")
      .filter((part) => part.trim() !== "")
      .map((part) => `${indent}${part.trim()}`);
  });
}
