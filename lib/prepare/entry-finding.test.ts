import { describe, expect, it } from "vitest";
import type { EntryStanding } from "@/lib/contract/entry-api";
import { prepareBoard } from "./board";
import { entryRow } from "./entry";
import { standingSentence } from "./entry-finding";
import { factsOf, gradedRow, publishedRows, syntheticSuite } from "./testing";

/** A standing as its sentence reads it. */
function standingOf(facts: Parameters<typeof prepareBoard>[0], slug: string): EntryStanding {
  const board = prepareBoard(facts);
  const { tasks: _tasks, citation: _citation, ...suite } = board.suite;
  return {
    suite,
    ranked: board.rows.filter(({ rankSet }) => rankSet).length,
    row: entryRow(board, slug),
    neighbours: [],
    custom: [],
    figures: [],
    tasks: null,
    repeats: null,
    failures: null,
    made: null,
    published: null,
    submissions: [],
  };
}

const suite = syntheticSuite({ training: 20, inference: 10, rl: 6 });
const sentence = (standing: EntryStanding) => standingSentence(standing).replaceAll(/[\u2068\u2069]/g, "");

describe("where an entry stands", () => {
  it("is said with rank set, counts, interval, and how many can be told apart from it", () => {
    expect(sentence(standingOf(factsOf(suite, publishedRows()), "gpt-6-sol"))).toBe(
      "Rank 1–6 of 6 on Synthetic suite 1.0: 14 of 36 tasks resolved (38.9\u202f%, 95\u202f% interval 24.8 to 55.1\u202f%). None of the other ranked entries can be told apart from it.",
    );
  });

  it("is said with both directions where entries differ", () => {
    const row = (name: string, count: number) =>
      gradedRow(
        suite,
        name,
        Array.from({ length: 36 }, (_, index) => Number(index < count)),
      );
    const facts = factsOf(suite, [row("Best", 34), row("Middle", 18), row("Worst", 2)]);
    expect(sentence(standingOf(facts, "middle"))).toContain(
      "Of the other two, one is significantly better and one is significantly worse.",
    );
    expect(sentence(standingOf(factsOf(suite, [row("Alone", 3)]), "alone"))).toContain("only ranked entry there");
  });

  it("is no rank for reference sets, for provisional rows, and where nothing is graded", () => {
    const gold = gradedRow(suite, "gold", new Array(36).fill(1));
    const reference = { ...gold, entry: { ...gold.entry, kind: "reference" as const } };
    expect(sentence(standingOf(factsOf(suite, [reference]), "gold"))).toMatch(
      /^36 of 36 tasks resolved .* A reference patch set, unranked/,
    );
    const waiting = { ...gold, provisional: true };
    expect(sentence(standingOf(factsOf(suite, [waiting]), "gold"))).toMatch(/Provisional: .* not ranked\.$/);
    expect(sentence(standingOf(factsOf(suite, []), "gold"))).toBe(
      "Submitted to Synthetic suite 1.0; nothing of it is graded yet.",
    );
  });
});
