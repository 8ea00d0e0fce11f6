type Cell = string | number | null;

/** A spreadsheet would run what begins so, and names come from submitters. */
const formulaStart = /^[=+\-@\t\r]/;

function csvCell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const inert = formulaStart.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

/**
 * Lines of cells as CSV (RFC 4180): numbers unrounded, what is missing empty. A text that a spreadsheet would take for a
 * formula has an apostrophe before it.
 */
export function csvText(lines: readonly (readonly Cell[])[]): string {
  return lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

/** Text in which nothing is Markdown's own. */
export function markdownText(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>()#+\-.!|~&]/g, "\\$&");
}

/** A row of a Markdown table from cells that are escaped already. */
export function markdownRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
