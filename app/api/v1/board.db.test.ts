import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { findBoard } from "@/app/board/find-board";
import { BoardTable } from "@/components/leaderboard/board-table";
import { type BoardRow, boardAnswerSchema } from "@/lib/contract/api";
import { formatNumber, formatRankSet } from "@/lib/format/numbers";
import { categoryColumns, columnsOf, figureOf, resolvedColumn } from "@/lib/prepare/board-columns";
import { prepareShown } from "@/lib/prepare/board-shown";
import { boardTwinHref } from "@/lib/prepare/board-twins";
import { type BoardView, defaultView, parseView } from "@/lib/prepare/board-view";
import { ask, type PublicSite, routesBelow, startPublicSite } from "@/lib/server/testing-public";

// Outside of Next there is no request to wait for, and no cache.
vi.mock("next/server", () => ({ connection: async () => {}, after: () => {} }));
vi.mock("next/cache", () => ({ cacheTag: () => {}, cacheLife: () => {}, revalidateTag: () => {} }));

let site: PublicSite;
let routes: Awaited<ReturnType<typeof routesBelow>>;
beforeAll(async () => {
  site = await startPublicSite(inject("testServerUrl"));
  routes = await routesBelow("api/v1");
});
afterAll(() => site.close());

/** RFC 4180. */
function parseCsv(text: string): string[][] {
  const lines: string[][] = [];
  for (const line of text.split("\r\n").slice(0, -1))
    lines.push(
      [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(
        ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare ?? "",
      ),
    );
  return lines;
}

const unescaped = (html: string) =>
  html
    .replaceAll("&#x27;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** Rows of a rendered table: the text of each cell by its label, counts in small print left out. */
function renderedRows(html: string): Map<string, string>[] {
  const body = /<tbody[^>]*>(.*)<\/tbody>/s.exec(html)?.[1] ?? "";
  return [...body.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = ""]) => {
    const cells = [...row.matchAll(/<td[^>]*data-label="([^"]*)"[^>]*>(.*?)<\/td>/gs)].map(
      ([, label = "", content = ""]) =>
        [unescaped(label), unescaped(content.replace(/<small>.*?<\/small>/gs, "").replace(/<[^>]*>/g, ""))] as const,
    );
    const name = /<bdi>(.*?)<\/bdi>/s.exec(row)?.[1] ?? "";
    return new Map([["Model", unescaped(name)], ...cells]);
  });
}

const views: [string, string][] = [
  ["the default", ""],
  ["sorted by cost", "sort=cost"],
  ["sorted by cost downwards, of one category", "sort=cost&dir=desc&category=training"],
  ["sorted by model", "sort=model"],
  ["of a category", "category=rl"],
  ["the Pareto view", "view=pareto&x=tokens"],
  ["filtered, with chosen columns", "model=gpt&cols=interval,cost,date"],
  ["without any column", "cols=none"],
  ["the matrix of a graded suite", "suite=synthetic-suite&view=matrix&tasks=discriminating"],
  ["a graded suite by official tests alone", "suite=synthetic-suite&tests=official"],
  ["a graded suite", "suite=synthetic-suite"],
  ["a graded suite under the other condition", "suite=synthetic-suite&condition=pr-description"],
];

describe.each(views)("%s", (_name, query) => {
  const view: BoardView = parseView(new URLSearchParams(query));

  async function twins() {
    const found = await findBoard(view);
    if (!found) throw new Error("there is no such board");
    const { board } = found;
    const read = async (form: "" | ".csv" | ".md") => {
      const answer = await ask(routes.get(`/api/v1/board${form}`), boardTwinHref(board, view, form));
      expect(answer.status).toBe(200);
      return answer.text();
    };
    const json = boardAnswerSchema.strict().parse(JSON.parse(await read("")));
    return { board, json, csv: parseCsv(await read(".csv")), markdown: await read(".md") };
  }

  it("stands in the same cells on the page, as JSON, as CSV and as Markdown", async () => {
    const { board, json, csv, markdown } = await twins();
    const official = view.tests === "official";
    const { board: ranked, rows, hidden } = prepareShown(board, view);
    const bySlug = new Map([...board.rows, ...board.references].map((row) => [row.entry.slug, row]));
    const shown = [...rows.flatMap((row) => bySlug.get(row.entry.slug) ?? []), ...board.references];
    expect(json.rows).toEqual(shown.slice(0, rows.length));
    expect(json.view.hidden).toBe(hidden);
    expect(json.references).toEqual(board.references);

    // CSV and JSON: every cell, unrounded.
    const [header = [], ...lines] = csv;
    expect(header).toEqual(json.table.columns.map(({ key }) => key));
    expect(lines).toEqual(json.table.rows.map((row) => row.map((cell) => (cell === null ? "" : String(cell)))));
    expect(lines.map((line) => line[header.indexOf("submission")])).toEqual(shown.map((row) => row.submissionId));

    const onPage = (row: BoardRow) => ranked.references.find((one) => one.entry.slug === row.entry.slug) ?? row;
    // Page and CSV: every figure that the page shows, rounded as it rounds.
    const table = { board: ranked, caption: "", both: official ? bySlug : undefined };
    const page = [
      { ...table, view, rows, sortable: true },
      { ...table, view: { ...view, category: null }, rows: board.references.map(onPage), sortable: false },
    ].flatMap((props) => renderedRows(renderToStaticMarkup(createElement(BoardTable, props))));
    expect(page).toHaveLength(shown.length);
    const cellOf = (line: readonly string[], key: string) => {
      const cell = line[header.indexOf(key)] ?? "";
      return cell === "" ? null : Number(cell);
    };
    page.forEach((cells, index) => {
      const line = lines[index] ?? [];
      const row = shown[index] as BoardRow;
      const isReference = index >= rows.length;
      const prefix = official ? "official_" : "";
      const rank = [cellOf(line, `${prefix}rank_best`), cellOf(line, `${prefix}rank_worst`)] as const;
      expect(cells.get("Rank set")).toBe(
        formatRankSet(rank[0] !== null && rank[1] !== null ? [rank[0], rank[1]] : null),
      );
      expect(cells.get("Model")).toBe(line[header.indexOf("model")]);
      const hero = official ? "official" : !isReference && view.category ? view.category : "resolved";
      expect(cells.get("Resolved")).toBe(formatNumber(cellOf(line, `${hero}_pct`), 1));
      if (official) expect(cells.get("With probes, %")).toBe(formatNumber(cellOf(line, "resolved_pct"), 1));
      for (const column of categoryColumns(board.suite).filter(
        ({ key }) => !official && view.columns.some((chosen) => chosen === key),
      )) {
        expect(cells.get(column.label)).toBe(formatNumber(cellOf(line, `${column.key}_pct`), 1));
        expect(cellOf(line, `${column.key}_pct`)).toBe(figureOf(row, column.key));
      }
      for (const column of columnsOf(isReference ? board.references : rows, view.columns).shown) {
        const label = column.unit ? `${column.label}, ${column.unit}` : column.label;
        const key = header.find((name) => name === column.key || name.startsWith(`${column.key}_`)) ?? "";
        expect(cells.get(label)).toBe(formatNumber(cellOf(line, key), column.decimals));
      }
      if (view.columns.includes("evidence")) expect(cells.get("Evidence")).toBe(line[header.indexOf("evidence")]);
      if (view.columns.includes("date")) expect(cells.get("Date")).toBe(line[header.indexOf("date")]);
    });

    // Markdown and page: the same text.
    const tableLines = markdown.split("\n").filter((text) => text.startsWith("| "));
    expect(tableLines).toHaveLength(shown.length + 2);
    tableLines.slice(2).forEach((text, index) => {
      const cells = text.slice(2, -2).split(" | ");
      expect(cells[0]).toBe(page[index]?.get("Rank set"));
      const row = shown[index] as BoardRow;
      expect(cells[3]).toBe(formatNumber(official ? row.officialResolved?.pct : resolvedColumn.value(row), 1));
    });
  });
});

it("gives the points of the Pareto view in its view alone", async () => {
  const read = async (query: string) =>
    boardAnswerSchema.parse(await (await ask(routes.get("/api/v1/board"), `/api/v1/board?${query}`)).json());
  expect((await read("suite=infradev")).pareto).toBeNull();
  const { pareto } = await read("suite=infradev&view=pareto&x=cost");
  expect(pareto?.points).toHaveLength(6);
  expect(pareto?.points.some(({ frontier }) => frontier)).toBe(true);
});

it("cites the publication of reported rows, and has nothing to cite elsewhere", async () => {
  const of = (suite: string) => ask(routes.get("/api/v1/board.bib"), `/api/v1/board.bib?suite=${suite}`);
  const entry = await (await of("infradev")).text();
  expect(entry).toMatch(/^@misc\{infradev-1\.0,\n {2}title = \{\{InfraDev: /);
  expect(entry).toContain("  eprint = {2610.36589},\n");
  expect((await of("synthetic-suite")).status).toBe(404);
});

it("answers 304 to who has it already", async () => {
  const first = await ask(routes.get("/api/v1/board"), "/api/v1/board");
  const etag = first.headers.get("etag") ?? "";
  expect(first.headers.get("cache-control")).toBe("public, no-cache");
  const again = await ask(routes.get("/api/v1/board"), "/api/v1/board", {}, { "if-none-match": `"other", W/${etag}` });
  expect(again.status).toBe(304);
  expect(await again.text()).toBe("");
  const other = await ask(routes.get("/api/v1/board"), "/api/v1/board?sort=cost", {}, { "if-none-match": etag });
  expect(other.status).toBe(200);
});

it("has the default view where nothing is asked for", async () => {
  const answer = boardAnswerSchema.parse(await (await ask(routes.get("/api/v1/board"), "/api/v1/board")).json());
  const { board } = (await findBoard(defaultView)) ?? {};
  expect(answer.suite).toEqual(board?.suite);
});
