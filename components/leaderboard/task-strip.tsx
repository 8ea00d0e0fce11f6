import type { Board, BoardRow, TaskCell } from "@/lib/contract/api";
import { type Category, type TaskVerdict, taskVerdicts } from "@/lib/contract/vocabulary";
import { categoryLabels, verdictLabels } from "@/lib/prepare/labels";
import { categoryGap, cellSize, stripHeight, stripPlaces } from "./strip-geometry";

const height = stripHeight;
/** In the order in which paths are drawn, and by which `data-strip` numbers verdicts. */
const verdictOrder = taskVerdicts;

/** Path of one cell. The half cell is a frame whose upper half is cut out by the even-odd rule. */
function cellPath(verdict: TaskVerdict, x: number, width: number): string {
  const inner = width - 1;
  switch (verdict) {
    case "resolved":
      return `M${x} 0h${width}v${height}h-${width}z`;
    case "probe-rejected":
      return `M${x} 0h${width}v${height}h-${width}zM${x + 1} 1h${width - 2}v${height / 2 - 1}h-${width - 2}z`;
    case "failed":
    case "missing":
      return `M${x + 0.5} .5h${inner}v${height - 1}h-${inner}z`;
  }
}

/** Says a group of cells in words. */
function cellsInWords(category: Category, cells: readonly TaskCell[]): string {
  const counts = verdictOrder.flatMap((verdict) => {
    const count = cells.filter((cell) => cell.verdict === verdict).length;
    return count > 0 ? [`${count} ${verdictLabels[verdict]}`] : [];
  });
  return `${categoryLabels[category]}: ${counts.join(", ")}`;
}

type Groups = readonly { category: Category; cells: readonly TaskCell[] }[];

/** One cell per task, grouped by category: solid, half, outline, dotted. One path per verdict keeps the markup small. */
function VerdictStrip({ groups }: { groups: Groups }) {
  const { lefts, width, total } = stripPlaces(groups.map(({ cells }) => cells.length));
  const paths: Record<TaskVerdict, string> = { resolved: "", "probe-rejected": "", failed: "", missing: "" };
  for (const [index, cell] of groups.flatMap(({ cells }) => cells).entries()) {
    paths[cell.verdict] += cellPath(cell.verdict, lefts[index] ?? 0, width);
  }
  return (
    <svg
      className="strip"
      width={total}
      height={height}
      viewBox={`0 0 ${total} ${height}`}
      role="img"
      aria-label={groups.map((group) => cellsInWords(group.category, group.cells)).join("; ")}
    >
      {verdictOrder.map((verdict) =>
        paths[verdict] ? <path key={verdict} className={`cell-${verdict}`} d={paths[verdict]} /> : null,
      )}
    </svg>
  );
}

/** More tasks than this have no cell each: a strip would be finer than a screen. */
const mostCells = 90;
const sharesWidth = 232;

/** How much of each category got which verdict, for suites of too many tasks. */
function VerdictShares({ groups }: { groups: Groups }) {
  const tasks = groups.reduce((sum, { cells }) => sum + cells.length, 0);
  const unit = (sharesWidth - categoryGap * (groups.length - 1)) / Math.max(1, tasks);
  let x = 0;
  const parts = groups.flatMap(({ category, cells }, index) => {
    if (index > 0) x += categoryGap;
    return verdictOrder.flatMap((verdict) => {
      const width = cells.filter((cell) => cell.verdict === verdict).length * unit;
      const part = { key: `${category} ${verdict}`, verdict, x, width };
      x += width;
      return width > 0 ? [part] : [];
    });
  });
  return (
    <svg
      className="strip"
      width={sharesWidth}
      height={height}
      viewBox={`0 0 ${sharesWidth} ${height}`}
      role="img"
      aria-label={groups.map((group) => cellsInWords(group.category, group.cells)).join("; ")}
    >
      {parts.map((part) => (
        <path
          key={part.key}
          className={`cell-${part.verdict}`}
          d={cellPath(
            part.verdict,
            Math.round(part.x),
            Math.max(2, Math.round(part.x + part.width) - Math.round(part.x)),
          )}
        />
      ))}
    </svg>
  );
}

/** Counts per category as hatched bars: how many, not which. */
function CountStrip({ row }: { row: BoardRow }) {
  const shares = row.byCategory.filter(({ share }) => share.resolved !== null);
  const { width, gap } = cellSize(row.resolved.total);
  const step = width + gap;
  let x = 0;
  const bars = shares.map(({ category, share }) => {
    const bar = { category, x, track: Math.max(0, share.total * step - gap), fill: (share.resolved ?? 0) * step };
    x += share.total * step - gap + categoryGap;
    return bar;
  });
  const total = Math.max(1, x - categoryGap);
  const label = shares.map(({ category, share }) => `${categoryLabels[category]} ${share.resolved} of ${share.total}`);
  return (
    <svg
      className="strip"
      width={total}
      height={height}
      viewBox={`0 0 ${total} ${height}`}
      role="img"
      aria-label={`Counts only: ${label.join(", ")}`}
    >
      {bars.map((bar) => (
        <g key={bar.category}>
          <rect className="count-track" x={bar.x} y="1" width={bar.track} height={height - 2} />
          <rect className="count-fill" x={bar.x} y="1" width={Math.min(bar.fill, bar.track)} height={height - 2} />
        </g>
      ))}
    </svg>
  );
}

/** A suite's tasks as a strip orders them: by category, in the suite's order within each. */
export function stripTasks({ categoryCounts, tasks }: Board["suite"]): { slug: string; title: string }[][] {
  return categoryCounts
    .map(({ category }) =>
      tasks.filter((task) => task.category === category).map(({ slug, title }) => ({ slug, title })),
    )
    .filter((group) => group.length > 0);
}

/**
 * A row's task strip, which leads to its submission, and cell by cell to its attempts where `StripCells` runs; counts per
 * category where the row has no per-task data.
 */
export function TaskStrip({ row, href }: { row: BoardRow; href: string }) {
  const { tasks } = row;
  if (!tasks) return row.byCategory.length > 0 ? <CountStrip row={row} /> : null;
  const groups = row.byCategory
    .map(({ category }) => ({ category, cells: tasks.filter((cell) => cell.category === category) }))
    .filter((group) => group.cells.length > 0);
  if (tasks.length > mostCells) {
    return (
      <a href={href} className="strip-link">
        <VerdictShares groups={groups} />
      </a>
    );
  }
  const verdicts = groups.flatMap(({ cells }) => cells.map(({ verdict }) => verdictOrder.indexOf(verdict)));
  return (
    <a href={href} className="strip-link" data-strip={verdicts.join("")}>
      <VerdictStrip groups={groups} />
    </a>
  );
}

/** The hatch that count strips are filled with; stands once on a page. */
export function StripPatterns() {
  return (
    <svg width="0" height="0" className="patterns" aria-hidden="true" focusable="false">
      <defs>
        <pattern id="count-hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect className="hatch-ground" width="4" height="4" />
          <rect className="hatch-line" width="2.2" height="4" />
        </pattern>
      </defs>
    </svg>
  );
}

/** A single verdict as its glyph. */
export function VerdictGlyph({ verdict }: { verdict: TaskVerdict }) {
  return (
    <svg className="glyph" width="9" height={height} viewBox={`0 0 9 ${height}`} aria-hidden="true">
      <path className={`cell-${verdict}`} d={cellPath(verdict, 0, 9)} />
    </svg>
  );
}
