"use client";

import { useState } from "react";
import { useReady } from "./use-ready";

interface Props {
  /** Class of the place that holds the chart and, above it, the title of its vertical axis. */
  place: string;
  title: string;
  /** Name of the file, without its ending. */
  name: string;
}

function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The chart, which is drawn only once its place was near the screen. */
async function drawnChart(place: string): Promise<SVGSVGElement | null> {
  const holder = document.querySelector(`.${place}`);
  holder?.scrollIntoView({ block: "nearest" });
  for (let waits = 0; waits < 30; waits++) {
    const chart = holder?.querySelector("svg");
    if (chart) return chart;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return null;
}

/** Saves the page's chart as it is drawn, as SVG or PNG, with title, source and date in it. Shown where scripts run. */
export function ChartDownload({ place, title, name }: Props) {
  const [failed, setFailed] = useState(false);
  const ready = useReady();

  async function download(form: "svg" | "png") {
    const chart = await drawnChart(place);
    setFailed(!chart);
    if (!chart) return;
    const { chartFile, chartPng } = await import("./chart-file");
    const day = new Date().toISOString().slice(0, 10);
    const source = `${location.origin}${location.pathname}${location.search}, read ${day}`;
    const yTitle = document.querySelector(`.${place} .plot-y-title`)?.textContent ?? "";
    const file = chartFile(chart, { title, yTitle, source });
    const blob = form === "svg" ? new Blob([file.svg], { type: "image/svg+xml" }) : await chartPng(file);
    save(blob, `${name}.${form}`);
  }

  return (
    <>
      {(["svg", "png"] as const).map((form) => (
        <li key={form} className="chart-download">
          <button
            type="button"
            data-later={ready ? undefined : "on"}
            onClick={() => void download(form).catch(() => setFailed(true))}
          >
            Chart as {form.toUpperCase()}
          </button>
        </li>
      ))}
      {failed ? (
        <li className="chart-download" role="status">
          The chart is not drawn, so there is nothing to save. Reload the page and try again.
        </li>
      ) : null}
    </>
  );
}
