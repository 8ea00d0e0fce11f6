import type { Board } from "@/lib/contract/api";
import { categoryColumns, figureColumns, resolvedColumn } from "./board-columns";
import { type BoardView, changedHref, defaultView, viewHref } from "./board-view";

/** Forms in which a board is given out, by what follows `/api/v1/board`. */
type BoardForm = "" | ".csv" | ".md" | ".bib" | ".svg";

/** Address of a view in another form, of all its pages. Suite and version are named, so that the address keeps its meaning. */
export function boardTwinHref(board: Board, view: BoardView, form: BoardForm): string {
  const href = changedHref(view, { suite: board.suite.slug, version: board.suite.version });
  return `/api/v1/board${form}${href.slice(1)}`;
}

/** The board as a schema.org Dataset. Addresses are relative to the page. */
export function boardDataset(board: Board, view: BoardView, description: string): object {
  const { suite } = board;
  const newest = [...board.rows, ...board.references].reduce((last, { date }) => (date > last ? date : last), "");
  const inForm = (form: BoardForm, encodingFormat: string) => ({
    "@type": "DataDownload",
    encodingFormat,
    contentUrl: boardTwinHref(board, view, form),
  });
  return {
    "@context": "https://schema.org",
    "@type": "Dataset",
    name: `${suite.title} ${suite.version}: results`,
    description: `${suite.summary} ${description}`,
    version: suite.version,
    url: viewHref({
      ...defaultView,
      suite: view.suite,
      version: view.version,
      condition: view.condition,
      skill: view.skill,
    }),
    isAccessibleForFree: true,
    keywords: ["benchmark", "coding agents", "distributed training", "inference", "reinforcement learning"],
    variableMeasured: [resolvedColumn, ...categoryColumns(suite), ...figureColumns].map(({ name, meaning, unit }) => ({
      "@type": "PropertyValue",
      name,
      description: meaning,
      ...(unit ? { unitText: unit } : {}),
    })),
    distribution: [inForm("", "application/json"), inForm(".csv", "text/csv"), inForm(".md", "text/markdown")],
    ...(newest ? { dateModified: newest } : {}),
    ...(suite.citation
      ? { citation: { "@type": "ScholarlyArticle", name: suite.citation.title, url: suite.citation.url } }
      : {}),
  };
}
