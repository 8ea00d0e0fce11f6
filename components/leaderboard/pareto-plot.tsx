"use client";

import { createContext, type KeyboardEvent, memo, useContext, useMemo, useState } from "react";
import {
  CartesianGrid,
  Scatter,
  ScatterChart,
  usePlotArea,
  useXAxisScale,
  useYAxisScale,
  XAxis,
  YAxis,
} from "recharts";
import { placeLabels } from "@/lib/prepare/label-places";
import type { ParetoScale } from "@/lib/prepare/pareto";

/** A mark of the chart: where it stands, what it is called, what it leads to, and the sentence that reads it out. */
interface ParetoMark {
  href: string;
  label: string;
  text: string;
  x: number;
  y: number;
  interval: readonly [number, number] | null;
  frontier: boolean;
}

export interface ParetoPlotProps {
  /** In the order in which the arrow keys step through them. */
  points: readonly ParetoMark[];
  x: ParetoScale;
  y: ParetoScale;
  xTitle: string;
  yTitle: string;
  /** Told the index of the mark under the pointer or with the focus. */
  onRead: (index: number | null) => void;
}

/** Mean advance of the text face at the labels' 12 px, on the wide side. */
const characterWidth = 6.7;
const margin = { top: 12, right: 14, bottom: 26, left: 0 };
/** By name, since recharts writes its own colours as styles. */
const axisText = { fill: "currentColor" };
const tickFormat = (tick: number) => String(tick);

type PlotArea = NonNullable<ReturnType<typeof usePlotArea>>;
type ToPixels = (mark: Pick<ParetoMark, "x" | "y">) => { x: number; y: number };

function useToPixels(): ToPixels | null {
  const toX = useXAxisScale();
  const toY = useYAxisScale();
  return toX && toY ? ({ x, y }) => ({ x: toX(x) ?? 0, y: toY(y) ?? 0 }) : null;
}

/** Corners of the frontier in pixels, from the axis up to its first mark and on to the right edge. */
function cornersOf(points: readonly ParetoMark[], toPixels: ToPixels, area: PlotArea): { x: number; y: number }[] {
  const marks = points.filter((point) => point.frontier).map(toPixels);
  const [first] = marks;
  const last = marks.at(-1);
  if (!first || !last) return [];
  const steps = marks.slice(1).flatMap((mark, index) => [{ x: mark.x, y: marks[index]?.y ?? mark.y }, mark]);
  return [{ x: first.x, y: area.y + area.height }, first, ...steps, { x: area.x + area.width, y: last.y }];
}

/** The most that is resolved for what is paid: a step up at each mark of the frontier. */
function Frontier({ points }: { points: readonly ParetoMark[] }) {
  const toPixels = useToPixels();
  const area = usePlotArea();
  if (!toPixels || !area) return null;
  const corners = cornersOf(points, toPixels, area);
  return <path className="frontier-line" d={`M${corners.map(({ x, y }) => `${x},${y}`).join("L")}`} />;
}

function Intervals({ points }: { points: readonly ParetoMark[] }) {
  const toPixels = useToPixels();
  if (!toPixels) return null;
  return points.map(({ href, x, interval, frontier }) => {
    if (!interval) return null;
    const low = toPixels({ x, y: interval[0] });
    const high = toPixels({ x, y: interval[1] });
    return (
      <path
        key={href}
        className={frontier ? "interval" : "interval dominated"}
        d={`M${low.x - 3},${low.y}h6m-3,0V${high.y}m-3,0h6`}
      />
    );
  });
}

const boxAround = (a: { x: number; y: number }, b: { x: number; y: number }) => ({
  left: Math.min(a.x, b.x) - 1,
  right: Math.max(a.x, b.x) + 1,
  top: Math.min(a.y, b.y) - 1,
  bottom: Math.max(a.y, b.y) + 1,
});

/** Names beside the marks, those of the frontier first to find a place; what has none is named in the reading. */
function Labels({ points }: { points: readonly ParetoMark[] }) {
  const toPixels = useToPixels();
  const area = usePlotArea();
  if (!toPixels || !area) return null;
  const inOrder = [...points].sort((a, b) => Number(b.frontier) - Number(a.frontier) || b.y - a.y);
  const labelled = inOrder.map((point) => ({ ...toPixels(point), width: point.label.length * characterWidth }));
  const intervals = points.flatMap(({ x, interval }) =>
    interval ? [boxAround(toPixels({ x, y: interval[0] }), toPixels({ x, y: interval[1] }))] : [],
  );
  const corners = cornersOf(points, toPixels, area);
  const segments = corners.slice(1).map((corner, index) => boxAround(corner, corners[index] ?? corner));
  const bounds = { left: area.x, right: area.x + area.width + margin.right, top: area.y, bottom: area.y + area.height };
  const places = placeLabels(labelled, bounds, [...intervals, ...segments]);
  return inOrder.map((point, index) => {
    const place = places[index];
    return place ? (
      <text
        key={point.href}
        className={point.frontier ? "mark-label" : "mark-label dominated"}
        x={place.x}
        y={place.y}
        dy="0.35em"
        textAnchor={place.anchor}
      >
        {point.label}
      </text>
    ) : null;
  });
}

/** What marks share. They cannot be a closure: a new component at each reading would take the focus away. */
const Marks = createContext<{ points: readonly ParetoMark[]; entry: number; onRead: ParetoPlotProps["onRead"] }>({
  points: [],
  entry: 0,
  onRead: () => {},
});

/** A mark as a link with a target of 24 px. Marks share one tab stop; the arrow keys move it. */
function Mark({ cx, cy, index }: { cx: number | undefined; cy: number | undefined; index: number }) {
  const { points, entry, onRead } = useContext(Marks);
  const point = points[index];
  if (!point) return <g />;
  return (
    <a
      href={point.href}
      className={point.frontier ? "mark" : "mark dominated"}
      aria-label={point.text}
      data-mark={index}
      tabIndex={index === entry ? 0 : -1}
      onFocus={() => onRead(index)}
      onBlur={() => onRead(null)}
      onMouseEnter={() => onRead(index)}
      onMouseLeave={() => onRead(null)}
    >
      <circle className="mark-target" cx={cx} cy={cy} r={12} />
      <circle className="mark-dot" cx={cx} cy={cy} r={5} />
    </a>
  );
}

const steps: Record<string, (index: number, last: number) => number> = {
  ArrowRight: (index, last) => Math.min(index + 1, last),
  ArrowLeft: (index) => Math.max(index - 1, 0),
  Home: () => 0,
  End: (_, last) => last,
};

/** Axes by recharts with the layers drawn over them. It renders once: drawn anew, marks would lose the focus. */
const Plot = memo(function Plot({ points, x, y, xTitle, yTitle }: Omit<ParetoPlotProps, "onRead">) {
  return (
    <ScatterChart
      responsive
      style={{ width: "100%", height: "100%" }}
      margin={margin}
      accessibilityLayer={false}
      role="group"
      aria-label={`${yTitle} against ${xTitle}`}
    >
      <CartesianGrid vertical={false} />
      <XAxis
        type="number"
        dataKey="x"
        scale={x.kind}
        domain={[...x.domain]}
        ticks={[...x.ticks]}
        interval={0}
        tick={axisText}
        tickFormatter={tickFormat}
        tickLine={false}
        label={{ ...axisText, value: xTitle, position: "bottom", offset: 4 }}
      />
      <YAxis
        type="number"
        dataKey="y"
        domain={[...y.domain]}
        ticks={[...y.ticks]}
        interval={0}
        tick={axisText}
        tickFormatter={tickFormat}
        tickLine={false}
        axisLine={false}
        width={34}
      />
      <Frontier points={points} />
      <Intervals points={points} />
      <Labels points={points} />
      <Scatter data={[...points]} isAnimationActive={false} shape={Mark} />
    </ScatterChart>
  );
});

/** The chart: marks as links over recharts' axes, the frontier as steps, and the keys that move among the marks. */
export function ParetoPlot({ onRead, ...chart }: ParetoPlotProps) {
  const { points, yTitle } = chart;
  const [entry, setEntry] = useState(0);
  const marks = useMemo(() => ({ points, entry, onRead }), [points, entry, onRead]);

  function step(event: KeyboardEvent<HTMLDivElement>) {
    const at = event.target instanceof Element ? event.target.closest("[data-mark]")?.getAttribute("data-mark") : null;
    const move = steps[event.key];
    if (at === null || at === undefined || !move) return;
    event.preventDefault();
    const next = move(Number(at), points.length - 1);
    setEntry(next);
    event.currentTarget.querySelector<SVGAElement>(`[data-mark="${next}"]`)?.focus();
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it moves the focus among the links inside
    <div className="plot-frame" onKeyDown={step}>
      <p className="plot-y-title">{yTitle}</p>
      <Marks value={marks}>
        <Plot {...chart} />
      </Marks>
    </div>
  );
}
