import { XMLParser, XMLValidator } from "fast-xml-parser";
import { expect, it } from "vitest";
import { prepareBoard } from "./board";
import { boardFigure } from "./board-figure";
import { defaultView } from "./board-view";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const source = "https://bench.example.org/?sort=cost&dir=asc";

it("draws every row with its rank set, number, bar and whisker, and names its source", () => {
  const board = prepareBoard(factsOf({ ...syntheticSuite(publishedCounts), tasks: [] }, publishedRows()));
  const figure = boardFigure(board, defaultView, source);
  expect(XMLValidator.validate(figure)).toBe(true);
  const { svg } = new XMLParser({ ignoreAttributes: false }).parse(figure);
  const texts = svg.text.map((text: { "#text": string | number }) => String(text["#text"]));
  expect(texts).toContain("\u2068GPT-6 Sol\u2069");
  expect(texts.filter((text: string) => text === "1–6")).toHaveLength(6);
  expect(texts).toContain("38.9");
  expect(svg.path).toHaveLength(6);
  expect(figure).toContain("https://bench.example.org/?sort=cost&amp;dir=asc, newest row of 2026-10-28");
});

it("is well-formed whatever the names, and says so where nothing is graded", () => {
  const suite = syntheticSuite({ training: 1, inference: 1, rl: 1 });
  const names = ["<b>&\"'", "x".repeat(120), "نموذج", "通义千问"];
  const board = prepareBoard(
    factsOf(
      suite,
      names.map((name, index) => {
        const row = gradedRow(suite, `m${index}`, [1]);
        return { ...row, entry: { ...row.entry, model: name } };
      }),
    ),
  );
  const figure = boardFigure(board, defaultView, source);
  expect(XMLValidator.validate(figure)).toBe(true);
  expect(figure).toContain(`${"x".repeat(43)}…`);
  expect(boardFigure(prepareBoard(factsOf(suite, [])), defaultView, source)).toContain("No row is graded");
});
