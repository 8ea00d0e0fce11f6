import { describe, expect, it } from "vitest";
import { prepareBoard } from "./board";
import { matrixRowsPerPage, prepareMatrix } from "./board-matrix";
import { prepareBoardPage } from "./board-page";
import { pageOf, prepareShown, rowsPerPage } from "./board-shown";
import { boardAnswerOf, boardMarkdown } from "./board-table";
import { defaultView } from "./board-view";
import { factsOf, gradedRow, publishedCounts, publishedRows, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 2, inference: 2, rl: 0 });
/** Tasks by letter: `r` resolved, `p` rejected by probes, `f` failed, `-` without a grading. */
function rowOf(model: string, verdicts: string) {
  const row = gradedRow(
    suite,
    model,
    [...verdicts].map((verdict) => Number(verdict === "r")),
    (_, index) =>
      verdicts[index] === "p"
        ? { verdict: "probe-rejected", officialScore: 1, officialResolvedAttempts: 1, probeRejectedAttempts: 1 }
        : verdicts[index] === "-"
          ? { verdict: "missing", requiredTotal: null, requiredPassed: null, status: null }
          : {},
  );
  return row;
}
const reference = (model: string, verdicts: string) => {
  const row = rowOf(model, verdicts);
  return { ...row, entry: { ...row.entry, kind: "reference" as const } };
};
const board = prepareBoard(
  factsOf(suite, [rowOf("Alpha", "rrpf"), rowOf("Beta", "rfpp"), rowOf("Gamma", "r-ff"), reference("gold", "rrrr")]),
);
const choice = { category: null, tasks: "all", official: false } as const;

describe("the matrix", () => {
  const slugs = (of: ReturnType<typeof prepareMatrix>) => of.tasks.map(({ slug }) => slug);

  it("sets entries against tasks, the most often resolved first, references apart and not counted", () => {
    const matrix = prepareMatrix(board, board.rows, choice);
    expect(matrix.tasks.map(({ slug, resolvedBy }) => [slug, resolvedBy])).toEqual([
      ["training-1", 3],
      ["training-2", 1],
      ["inference-1", 0],
      ["inference-2", 0],
    ]);
    expect(matrix.entries).toBe(3);
    expect(matrix.references.map(({ row }) => row.entry.model)).toEqual(["gold"]);
    const gamma = matrix.rows.find(({ row }) => row.entry.model === "Gamma");
    expect(gamma?.cells.map(({ verdict }) => verdict)).toEqual(["resolved", "missing", "failed", "failed"]);
  });

  it("keeps the tasks that some resolve and others do not", () => {
    const matrix = prepareMatrix(board, board.rows, { ...choice, tasks: "discriminating" });
    expect(slugs(matrix)).toEqual(["training-2"]);
    expect(matrix.hiddenTasks).toBe(3);
    const byOfficial = prepareMatrix(board, board.rows, { ...choice, tasks: "discriminating", official: true });
    expect(slugs(byOfficial)).toEqual(["inference-1", "training-2", "inference-2"]);
  });

  it("counts solve rates over the whole board, whatever is filtered, and keeps to a category", () => {
    const one = prepareMatrix(board, board.rows.slice(0, 1), { ...choice, category: "training" });
    expect(one.rows).toHaveLength(1);
    expect(one.tasks.map(({ resolvedBy }) => resolvedBy)).toEqual([3, 1]);
  });

  it("draws no row without per-task data, and orders tasks by the references where nobody else has any", () => {
    const published = prepareBoard(factsOf({ ...syntheticSuite(publishedCounts), tasks: [] }, publishedRows()));
    const matrix = prepareMatrix(published, published.rows, choice);
    expect([matrix.rows.length, matrix.undrawn.length, matrix.tasks.length]).toEqual([0, 6, 0]);
    const alone = prepareBoard(factsOf(suite, [reference("gold", "rrrr"), reference("mutant", "pfff")]));
    expect(prepareMatrix(alone, [], { ...choice, official: true }).tasks[0]).toMatchObject({
      slug: "training-1",
      resolvedBy: 2,
    });
  });

  it("keeps a page to about as many cells, whatever the suite's size", () => {
    expect([1, 36, 40, 400, 4000].map(matrixRowsPerPage)).toEqual([100, 100, 100, 10, 10]);
  });
});

describe("official tests alone", () => {
  const view = { ...defaultView, tests: "official" as const };

  it("rank by what they let pass, and say what the probes change", () => {
    const model = prepareBoardPage(board, view);
    expect(model?.page.items.map((row) => [row.entry.model, row.resolved.resolved])).toEqual([
      ["Alpha", 3],
      ["Beta", 3],
      ["Gamma", 1],
    ]);
    expect(model?.finding.headline).toContain("on 4 tasks by official tests alone.");
    expect(model?.finding.lead).toContain("The probes reject 3 of 7 (42.9\u202f%) of what passes them; with probes no");
  });

  it("show no row that does not state them, and say how many there are", () => {
    const published = prepareBoard(factsOf({ ...syntheticSuite(publishedCounts), tasks: [] }, publishedRows()));
    const model = prepareBoardPage(published, view);
    expect(model?.page.items).toEqual([]);
    expect(model?.shown.unstated).toHaveLength(6);
    expect(model?.finding.headline).toMatch(/^No row of .* states what it resolves by official tests alone\.$/);
  });

  it("leave the figures of the twins as they are, in the order of the view", () => {
    const answer = boardAnswerOf(board, view);
    expect(answer.rows.map((row) => row.resolved.resolved)).toEqual([2, 1, 1]);
    expect(boardMarkdown(board, view)).toContain("| Rank set with probes | Resolved with probes, % |");
  });
});

describe("a long board", () => {
  const rows = Array.from({ length: 230 }, (_, index) => rowOf(`Model ${index}`, "rf"));
  const long = prepareBoard(factsOf(suite, rows));

  it("has pages, with rank sets over all of it, and no page beyond", () => {
    const last = prepareBoardPage(long, { ...defaultView, page: 3 });
    expect(last?.page).toMatchObject({ page: 3, pages: 3, first: 201, total: 230 });
    expect(last?.page.items).toHaveLength(30);
    expect(last?.page.items[0]?.rankSet).toEqual([1, 230]);
    expect(prepareBoardPage(long, { ...defaultView, page: 4 })).toBeNull();
    expect(prepareBoardPage(long, { ...defaultView, matrix: "all", page: 3 })?.matrix?.page.items).toHaveLength(30);
  });

  it("is given out whole as data", () => {
    expect(boardAnswerOf(long, { ...defaultView, page: 2 }).rows).toHaveLength(230);
  });
});

describe("a board without rows, or with one", () => {
  it("has one page in every form", () => {
    for (const rows of [[], [rowOf("Alone", "rrff")]]) {
      const few = prepareBoard(factsOf(suite, rows));
      for (const view of [
        {},
        { matrix: "all" as const },
        { pareto: "cost" as const },
        { tests: "official" as const },
      ]) {
        const model = prepareBoardPage(few, { ...defaultView, ...view });
        expect(model?.page.pages).toBe(1);
        expect(model?.finding.headline).not.toMatch(/undefined|NaN|null/);
      }
    }
  });
});

it("cuts a list into pages", () => {
  expect(pageOf([1, 2, 3], 2, 2)).toEqual({ items: [3], page: 2, pages: 2, first: 3, total: 3 });
  expect(pageOf([], 1, 2)).toMatchObject({ pages: 1, total: 0 });
  expect(pageOf([], 2, 2)).toBeNull();
  expect(rowsPerPage).toBe(100);
});

it("shows in a view the rows as the board has them", () => {
  expect(prepareShown(board, defaultView).rows).toEqual(board.rows);
});
