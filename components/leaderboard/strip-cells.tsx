"use client";

import {
  type FocusEvent,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useMemo,
  useRef,
  useState,
} from "react";
import { taskVerdicts } from "@/lib/contract/vocabulary";
import { verdictLabels } from "@/lib/prepare/labels";
import { cellAt, stripHeight, stripPlaces } from "./strip-geometry";

interface Props {
  /** Tasks in the order of the strips' cells, by category. */
  groups: readonly (readonly { slug: string; title: string }[])[];
  children: ReactNode;
}

/** A cell of a strip that is read: what it says, and where its text and its frame stand in the section. */
interface Reading {
  text: string;
  left: number;
  top: number;
  cell: { left: number; top: number; width: number; height: number };
}

const steps: Record<string, (index: number, last: number) => number> = {
  ArrowRight: (index, last) => Math.min(index + 1, last),
  ArrowLeft: (index) => Math.max(index - 1, 0),
  Home: () => 0,
  End: (_, last) => last,
};

const stripOf = (target: EventTarget) =>
  target instanceof Element ? target.closest<HTMLAnchorElement>("a[data-strip]") : null;

/**
 * Makes the cells of the strips inside it reachable: under the pointer, and by the arrow keys once a strip has the focus,
 * a cell says its task and verdict, and the strip's link leads to that attempt. Without it each strip is one link, to its
 * submission, which lists the same attempts.
 */
export function StripCells({ groups, children }: Props) {
  const section = useRef<HTMLDivElement>(null);
  const [reading, setReading] = useState<Reading | null>(null);
  const chosen = useRef(-1);
  const tasks = useMemo(() => groups.flat(), [groups]);
  const places = useMemo(() => stripPlaces(groups.map(({ length }) => length)), [groups]);

  function read(strip: HTMLAnchorElement, index: number) {
    const task = tasks[index];
    const verdict = taskVerdicts[Number(strip.dataset["strip"]?.[index])];
    const drawing = strip.querySelector("svg");
    if (!task || !verdict || !drawing || !section.current) return;
    strip.dataset["submission"] ??= strip.getAttribute("href") ?? "";
    const submission = strip.dataset["submission"];
    strip.setAttribute("href", verdict === "missing" ? submission : `${submission}/${task.slug}`);
    const outer = section.current.getBoundingClientRect();
    const inner = drawing.getBoundingClientRect();
    const scale = inner.width / places.total;
    const left = inner.left - outer.left + (places.lefts[index] ?? 0) * scale;
    const top = inner.top - outer.top;
    setReading({
      text: `${task.title}: ${verdictLabels[verdict]}`,
      left: Math.max(0, Math.min(left, outer.width - Math.min(300, outer.width))),
      top: top + inner.height + 8,
      cell: { left, top, width: places.width * scale, height: stripHeight * scale },
    });
  }

  function leave(strip: HTMLAnchorElement | null) {
    const submission = strip?.dataset["submission"];
    if (submission) strip?.setAttribute("href", submission);
    chosen.current = -1;
    setReading(null);
  }

  function point(event: PointerEvent) {
    const strip = stripOf(event.target);
    const box = strip?.querySelector("svg")?.getBoundingClientRect();
    if (strip && box) read(strip, cellAt(places, ((event.clientX - box.left) / box.width) * places.total));
  }

  function step(event: KeyboardEvent) {
    const strip = stripOf(event.target);
    const move = steps[event.key];
    if (event.key === "Escape") leave(strip);
    if (!strip || !move) return;
    event.preventDefault();
    chosen.current = chosen.current < 0 && event.key === "ArrowRight" ? 0 : move(chosen.current, tasks.length - 1);
    read(strip, chosen.current);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it reads the links inside, which take the focus themselves
    <div
      className="strip-section"
      ref={section}
      onPointerMove={point}
      onPointerOut={(event) => leave(stripOf(event.target))}
      onKeyDown={step}
      onBlur={(event: FocusEvent) => leave(stripOf(event.target))}
    >
      {children}
      {reading ? <span className="strip-cursor" aria-hidden="true" style={reading.cell} /> : null}
      <span
        className="strip-reading"
        role="status"
        style={reading ? { left: reading.left, top: reading.top } : undefined}
        hidden={!reading}
      >
        {reading?.text}
      </span>
    </div>
  );
}
