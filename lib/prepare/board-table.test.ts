import { describe, expect, it } from "vitest";
import { badgeSvg } from "./badge";
import { prepareBoard } from "./board";
import { boardAnswerOf, boardBibtex, boardCsv, boardMarkdown } from "./board-table";
import { boardDataset, boardTwinHref } from "./board-twins";
import { defaultView } from "./board-view";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 1, inference: 1, rl: 1 });
const boardOf = (model: string) => prepareBoard(factsOf(suite, [gradedRow(suite, model, [1])]));

describe("texts of submitters", () => {
  it("are quoted in CSV, and start no formula", () => {
    const csvOf = (model: string) => boardCsv(boardAnswerOf(boardOf(model), defaultView)).split("\r\n")[1] ?? "";
    expect(csvOf('a "b", c')).toContain(',"a ""b"", c",');
    expect(csvOf("=HYPERLINK(1)")).toContain(",'=HYPERLINK(1),");
  });

  it("break no Markdown table and write no markup", () => {
    expect(boardMarkdown(boardOf("a|b <b>*c*</b>"), defaultView)).toContain("| a\\|b \\<b\\>\\*c\\*\\</b\\> |");
  });

  it("leave no badge and no data block", () => {
    const board = boardOf('</title><script>"');
    const [row] = board.rows;
    if (!row) throw new Error("the board has no row");
    expect(badgeSvg(row, suite)).toContain("&lt;/title&gt;&lt;script&gt;&quot; on Synthetic suite 1.0: rank 1 · 33.3");
  });
});

it("orders rows as the view does, in the table too", () => {
  const board = prepareBoard(factsOf(syntheticSuite(publishedCounts), publishedRows()));
  const answer = boardAnswerOf(board, { ...defaultView, sort: "model", direction: "asc" });
  const at = answer.table.columns.findIndex(({ key }) => key === "model");
  expect(answer.table.rows.map((row) => row[at])).toEqual(answer.rows.map((row) => row.entry.model));
  expect(answer.rows[0]?.entry.model).toBe("DeepSeek V4 Pro");
  expect(new Set(answer.table.columns.map(({ key }) => key)).size).toBe(answer.table.columns.length);
});

it("cites with what the source states, and escapes what TeX would read", () => {
  const citation = {
    title: "50 % of A_B & C",
    url: "https://arxiv.org/abs/2610.36589",
    published: "2026-10-28",
    extent: "",
  };
  expect(boardBibtex({ ...boardOf("Alpha"), suite: { ...suite, citation } })).toBe(
    `@misc{synthetic-1.0,
  title = {{50 \\% of A\\_B \\& C}},
  year = {2026},
  month = {10},
  eprint = {2610.36589},
  archivePrefix = {arXiv},
  url = {https://arxiv.org/abs/2610.36589},
}
`,
  );
  expect(boardBibtex(boardOf("Alpha"))).toBeNull();
});

it("names suite and version in the addresses of exports, whatever the page's address left out", () => {
  const board = boardOf("Alpha");
  expect(boardTwinHref(board, { ...defaultView, category: "rl" }, ".csv")).toBe(
    "/api/v1/board.csv?suite=synthetic&version=1.0&category=rl",
  );
  expect(boardDataset(board, defaultView, "One entry.")).toMatchObject({ "@type": "Dataset", version: "1.0" });
});
