import type { BoardRow } from "@/lib/contract/api";
import { formatPctUnit, formatRankSet } from "@/lib/format/numbers";
import { xmlText } from "@/lib/format/xml";

/** Width of a text of the badge in its 11 px sans-serif, estimated upwards; the text is fitted to it. */
const widthOf = (text: string) => Math.ceil([...text].length * 6.7);

/** A row's standing in words: `ranks 1–3, 38.9 % resolved`. */
function standing(row: BoardRow): string {
  const resolved = `${formatPctUnit(row.resolved.pct)} resolved`;
  if (row.rankSet) return `rank ${formatRankSet(row.rankSet)} · ${resolved}`;
  return `${row.entry.kind === "reference" ? "reference" : "unranked"} · ${resolved}`;
}

/** A badge as SVG: the suite, and the row's rank set and % resolved on it. Its title says the same with the model's name. */
export function badgeSvg(row: BoardRow, suite: { title: string; version: string }): string {
  const label = `${suite.title} ${suite.version}`;
  const value = standing(row);
  const [left, right] = [widthOf(label) + 16, widthOf(value) + 16];
  const text = (words: string, x: number, width: number, fill: string) =>
    `<text x="${x}" y="14" textLength="${width}" lengthAdjust="spacingAndGlyphs" fill="${fill}">${xmlText(words)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" viewBox="0 0 ${left + right} 20" role="img" aria-labelledby="title">
<title id="title">${xmlText(`${row.entry.model} on ${label}: ${value}`)}</title>
<rect width="${left}" height="20" fill="#33373b"/>
<rect x="${left}" width="${right}" height="20" fill="#1f4e79"/>
<g font-family="'IBM Plex Sans',Verdana,Arial,sans-serif" font-size="11">
${text(label, 8, left - 16, "#ffffff")}
${text(value, left + 8, right - 16, "#ffffff")}
</g>
</svg>
`;
}
