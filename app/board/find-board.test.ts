import { beforeEach, expect, test, vi } from "vitest";
import { prepareBoard } from "@/lib/prepare/board";
import { defaultView } from "@/lib/prepare/board-view";
import { factsOf, gradedRow, syntheticSuite } from "@/lib/prepare/testing";
import { getBoard, listSuites } from "@/lib/server/readers";
import { findBoard } from "./find-board";

vi.mock("@/lib/server/readers", () => ({ getBoard: vi.fn(), listSuites: vi.fn() }));

const suite = syntheticSuite({ training: 1, inference: 1, rl: 1 });
const row = gradedRow(suite, "Alpha", [1]);

beforeEach(() => {
  vi.mocked(listSuites).mockResolvedValue([{ ...suite, reported: false, boards: [] }]);
  vi.mocked(getBoard).mockImplementation(async ({ suite: slug, skill }) => {
    if (slug !== suite.slug) return null;
    const rows =
      skill === "planner"
        ? [row]
        : skill === "rules"
          ? [{ ...row, entry: { ...row.entry, kind: "reference" as const } }]
          : [];
    return { ...prepareBoard(factsOf(suite, rows)), skill: skill ?? null };
  });
});

test("a skill that a row names has a board", async () => {
  expect((await findBoard({ ...defaultView, skill: "planner" }))?.board.rows).toHaveLength(1);
  expect((await findBoard({ ...defaultView, skill: "rules" }))?.board.references).toHaveLength(1);
});

test("a skill that is published and not graded yet has an empty board", async () => {
  const boards = [{ promptCondition: "interface" as const, skill: "new" }];
  vi.mocked(listSuites).mockResolvedValue([{ ...suite, reported: false, boards }]);
  expect((await findBoard({ ...defaultView, skill: "new" }))?.board.rows).toEqual([]);
  expect(await findBoard({ ...defaultView, skill: "anything" })).toBeNull();
});

test("a skill that no submission names has none", async () => {
  expect(await findBoard({ ...defaultView, skill: "anything" })).toBeNull();
});

test("a suite without rows has its empty boards, an unknown suite has none", async () => {
  expect((await findBoard(defaultView))?.board.rows).toEqual([]);
  expect((await findBoard({ ...defaultView, condition: "pr-description" }))?.board.rows).toEqual([]);
  expect(await findBoard({ ...defaultView, suite: "unknown" })).toBeNull();
});
