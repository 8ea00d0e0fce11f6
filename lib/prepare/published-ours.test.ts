import { expect, it } from "vitest";
import { prepareBoard } from "./board";
import { ownFigures } from "./published-ours";
import { factsOf, gradedRow, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 2, inference: 1, rl: 1 });
const board = prepareBoard(factsOf(suite, [gradedRow(suite, "Model", [1, 0, 1, 0])]));

it("sets our rows beside a table of the same kind, in its columns", () => {
  const [table] = ownFigures("table3", [board], []).tables;
  expect(table?.columns.map(({ label }) => label)).toEqual(["Training", "Inference", "RL"]);
  expect(table?.rows).toMatchObject([{ label: "Model", note: "verified", cells: ["1/2", "1/1", "0/1"] }]);
  expect(ownFigures("table2", [board], []).tables[0]?.rows[0]?.cells).toEqual(["50.0", "62.5", "—", "—", "—"]);
});

it("says why there is none", () => {
  expect(ownFigures("table6", [board], [])).toMatchObject({ tables: [], more: null });
  expect(ownFigures("table6", [board], []).note).toContain("Nothing of ours is comparable");
  expect(ownFigures("table2", [], []).note).toContain("Nothing of this kind");
  expect(ownFigures("table7", [board], []).more?.href).toBe("/failures");
});
