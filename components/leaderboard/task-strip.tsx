import type { BoardRow, TaskCell } from "@/lib/contract/api";
import type { Category, TaskVerdict } from "@/lib/contract/vocabulary";
import { categoryLabels, verdictLabels } from "@/lib/prepare/labels";

const height = 14;
const categoryGap = 7;
const verdictOrder: readonly TaskVerdict[] = ["resolved", "probe-rejected", "failed", "missing"];

/** Cell width and gap by the number of tasks, so that a strip keeps to a column. */
function cellSize(tasks: number): { width: number; gap: number } {
  if (tasks <= 16) return { width: 9, gap: 2 };
  if (tasks <= 45) return { width: 5, gap: 1 };
  return { width: 2, gap: 1 };
}

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

/** One cell per task, grouped by category: solid, half, outline, dotted. One path per verdict keeps the markup small. */
function VerdictStrip({ groups }: { groups: readonly { category: Category; cells: readonly TaskCell[] }[] }) {
  const { width, gap } = cellSize(groups.reduce((sum, group) => sum + group.cells.length, 0));
  const paths: Record<TaskVerdict, string> = { resolved: "", "probe-rejected": "", failed: "", missing: "" };
  let x = 0;
  for (const group of groups) {
    for (const cell of group.cells) {
      paths[cell.verdict] += cellPath(cell.verdict, x, width);
      x += width + gap;
    }
    x += categoryGap;
  }
  const total = Math.max(1, x - categoryGap - gap);
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

/** A row's task strip, which leads to the tasks; counts per category where the row has no per-task data. */
export function TaskStrip({ row, href }: { row: BoardRow; href: string }) {
  const { tasks } = row;
  if (!tasks) return row.byCategory.length > 0 ? <CountStrip row={row} /> : null;
  const groups = row.byCategory
    .map(({ category }) => ({ category, cells: tasks.filter((cell) => cell.category === category) }))
    .filter((group) => group.cells.length > 0);
  return (
    <a href={href} className="strip-link" title="Tasks of this suite">
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
