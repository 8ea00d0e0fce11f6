"use client";

import { type ComponentType, useEffect, useRef, useState } from "react";
import type { ParetoPlotProps } from "./pareto-plot";

type Loaded = ComponentType<ParetoPlotProps> | "waiting" | "failed";

/**
 * The chart's place on the page, of its final size from the first paint. The library that draws is fetched when the place
 * comes near the screen, and where that fails the table of figures stands alone.
 */
export function ParetoChart(props: Omit<ParetoPlotProps, "onRead">) {
  const place = useRef<HTMLDivElement>(null);
  const [loaded, setLoaded] = useState<Loaded>("waiting");
  const [read, setRead] = useState<number | null>(null);

  useEffect(() => {
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        import("./pareto-plot").then(
          ({ ParetoPlot }) => setLoaded(() => ParetoPlot),
          () => setLoaded("failed"),
        );
      },
      { rootMargin: "200px" },
    );
    if (place.current) seen.observe(place.current);
    return () => seen.disconnect();
  }, []);

  const Plot = typeof loaded === "string" ? null : loaded;
  const text = read === null ? null : props.points[read]?.text;
  return (
    <div className="pareto-chart" ref={place}>
      <div className="pareto-plot">
        {Plot ? <Plot {...props} onRead={setRead} /> : null}
        {loaded === "failed" ? <p>The chart could not be loaded. The table below holds all of its figures.</p> : null}
      </div>
      <p className="pareto-reading">
        {text ?? "Each mark leads to its row’s submission; the arrow keys step from mark to mark."}
      </p>
    </div>
  );
}
