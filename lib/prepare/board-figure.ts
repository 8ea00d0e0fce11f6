import type { Board, BoardRow } from "@/lib/contract/api";
import { formatPct, formatRankSet } from "@/lib/format/numbers";
import { formatDay } from "@/lib/format/times";
import { xmlText } from "@/lib/format/xml";
import { prepareShown } from "./board-shown";
import type { BoardView } from "./board-view";
import { conditionLabels } from "./labels";

const width = 960;
const rowHeight = 30;
const head = 74;
/** Left edges: rank set, name, number; the bars' axis from 0 to 100 %. */
const at = { name: 64, number: 470, bar: 492 };
const barWidth = width - at.bar - 24;
/** Characters of a name that have room. */
const mostCharacters = 44;
/** Print colours; the hollow bar and the whisker stay apart without them. */
const ink = "#1a1c1f";
const muted = "#5c6066";
const ticks = [0, 20, 40, 60, 80, 100];

const x = (pct: number) => Math.round(10 * (at.bar + (barWidth * pct) / 100)) / 10;

function shortened(name: string): string {
  const characters = [...name];
  return characters.length <= mostCharacters ? name : `${characters.slice(0, mostCharacters - 1).join("")}…`;
}

function line(row: BoardRow, index: number): string {
  const top = head + index * rowHeight;
  const middle = top + rowHeight / 2;
  const { pct, interval } = row.resolved;
  const official = row.officialResolved && row.officialResolved.pct > pct ? row.officialResolved.pct : null;
  return [
    `<line x1="0" x2="${width}" y1="${top}" y2="${top}" stroke="#e2dfd6"/>`,
    `<text x="0" y="${middle + 5}" fill="${muted}">${formatRankSet(row.rankSet)}</text>`,
    `<text x="${at.name}" y="${middle + 5}">\u2068${xmlText(shortened(row.entry.model))}\u2069</text>`,
    `<text x="${at.number}" y="${middle + 5}" text-anchor="end" font-weight="600">${formatPct(pct)}</text>`,
    `<rect x="${at.bar}" y="${middle - 6}" width="${barWidth}" height="12" fill="#eae7dd"/>`,
    `<rect x="${at.bar}" y="${middle - 6}" width="${Math.round(10 * (x(pct) - at.bar)) / 10}" height="12" fill="#2c7f8b"/>`,
    official === null
      ? ""
      : `<rect x="${x(pct)}" y="${middle - 5.5}" width="${Math.round(10 * (x(official) - x(pct))) / 10}" height="11" fill="none" stroke="#2c7f8b"/>`,
    interval
      ? `<path d="M${x(interval[0])},${middle - 4}v8m0,-4H${x(interval[1])}m0,-4v8" fill="none" stroke="${ink}"/>`
      : "",
  ].join("");
}

/**
 * A view of the board as a figure for papers and slides: rank set, % resolved, its 95 % interval as a whisker, official
 * tests alone as a hollow bar. `source` is the address of the view, which stands below with the day of the newest row.
 */
export function boardFigure(board: Board, view: BoardView, source: string): string {
  const shown = prepareShown(board, view);
  const rows = [...shown.rows, ...shown.board.references];
  const newest = rows
    .map(({ date }) => date)
    .sort((a, b) => a.localeCompare(b))
    .at(-1);
  const bottom = head + rows.length * rowHeight;
  const height = bottom + 66;
  const title = [
    `${board.suite.title} ${board.suite.version}`,
    conditionLabels[board.promptCondition],
    ...(board.skill ? [`skill ${board.skill}`] : []),
    ...(view.tests === "official" ? ["official tests alone"] : []),
  ].join(", ");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width + 48}" height="${height + 40}" viewBox="-24 -20 ${width + 48} ${height + 40}" role="img" aria-labelledby="title" font-family="'IBM Plex Sans',Helvetica,Arial,sans-serif" font-size="14" fill="${ink}">
<title id="title">${xmlText(`${title}: % resolved of ${board.suite.taskCount} tasks`)}</title>
<rect x="-24" y="-20" width="${width + 48}" height="${height + 40}" fill="#ffffff"/>
<text y="16" font-size="18" font-weight="600">${xmlText(title)}</text>
<text y="38" fill="${muted}">% resolved of ${board.suite.taskCount} tasks with Wilson 95 % intervals; rank sets at the left</text>
${ticks.map((tick) => `<text x="${x(tick)}" y="${head - 8}" text-anchor="middle" font-size="12" fill="${muted}">${tick}</text>`).join("")}
${rows.map(line).join("\n")}
<line x1="0" x2="${width}" y1="${bottom}" y2="${bottom}" stroke="${ink}"/>
${rows.length === 0 ? `<text y="${bottom + 20}" fill="${muted}">No row is graded on this board yet.</text>` : ""}
<text y="${bottom + 44}" font-size="12" fill="${muted}">${xmlText(source)}${newest ? `, newest row of ${formatDay(newest)}` : ""}${board.suite.citation ? `; reported rows: ${xmlText(board.suite.citation.url)}` : ""}</text>
</svg>
`;
}
