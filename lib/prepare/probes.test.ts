import { describe, expect, it } from "vitest";
import { type PublishedProbes, probesAnswerSchema } from "@/lib/contract/probes-api";
import type { ProbesFacts } from "@/lib/contract/probes-facts";
import { prepareBoard } from "./board";
import { prepareProbes } from "./probes";
import { publishedProbes } from "./probes-published";
import { probesCsv, probesMarkdown } from "./probes-table";
import { probesFinding, recomputedInWords } from "./probes-words";
import { factsOf, gradedRow, syntheticSuite } from "./testing";

const suite = syntheticSuite({ training: 2, inference: 2, rl: 0 });

/** Every task of the row passes its official tests, and the probes reject those where the score is 0. */
const probed = (model: string, scores: readonly number[]) =>
  gradedRow(suite, model, scores, ({ score }) => ({
    officialScore: 1,
    officialResolvedAttempts: 1,
    probeRejectedAttempts: 1 - score,
    verdict: score === 1 ? "resolved" : "probe-rejected",
  }));
const reference = (name: string, scores: readonly number[]) => {
  const row = probed(`reference: ${name}`, scores);
  return { ...row, entry: { ...row.entry, kind: "reference" as const } };
};
const alpha = probed("Alpha", [1, 1, 1, 0]);
const beta = probed("Beta", [1, 0, 0, 0]);
const rows = [
  alpha,
  beta,
  reference("mutant-10", [0, 0, 0, 0]),
  reference("mutant-2", [0, 0, 0, 0]),
  reference("gold", [1, 1, 1, 1]),
];

function factsWith(given: typeof rows): ProbesFacts {
  const rejections = given.flatMap(({ submissionId, evidence }) =>
    (evidence.kind === "graded" ? evidence.tasks : [])
      .filter(({ score }) => score === 0)
      .flatMap(({ task }, index) => {
        const one = { submissionId, attemptId: `${submissionId} ${task}`, task };
        return index === 0
          ? [
              { ...one, property: "value" as const },
              { ...one, property: "resource.memory" as const },
            ]
          : [{ ...one, property: "value" as const }];
      }),
  );
  return {
    board: prepareBoard(factsOf(suite, given)),
    counts: given.flatMap(({ submissionId, evidence }) =>
      (evidence.kind === "graded" ? evidence.tasks : []).map(({ task, score }) => ({
        ...{ submissionId, task },
        officialResolved: 1,
        rejected: 1 - score,
      })),
    ),
    rejections,
    probes: [
      { property: "value", probes: 5, tasks: 4 },
      { property: "resource.memory", probes: 2, tasks: 1 },
    ],
  };
}
const answerOf = (given: typeof rows) =>
  probesAnswerSchema.parse({ ...prepareProbes(factsWith(given)), published: [] });

describe("what the probes reject", () => {
  const answer = answerOf(rows);

  it("is counted by row with Wilson's interval, reference sets apart and in their names' order", () => {
    expect(
      answer.rows.map(({ entry, rejected }) => [entry.slug, rejected?.rejected, rejected?.officialResolved]),
    ).toEqual([
      ["alpha", 1, 4],
      ["beta", 3, 4],
    ]);
    // Wilson for 1 of 4
    expect(answer.rows[0]?.rejected?.interval?.[0]).toBeCloseTo(4.559, 2);
    expect(answer.rows[0]?.rejected?.interval?.[1]).toBeCloseTo(69.936, 2);
    expect(answer.references.map(({ entry }) => entry.model)).toEqual([
      "reference: gold",
      "reference: mutant-2",
      "reference: mutant-10",
    ]);
    expect(answer.references.every(({ rankSet }) => rankSet === null)).toBe(true);
  });

  it("is pooled over attempts, with an interval over tasks only where tasks vary", () => {
    expect(answer.pooled).toMatchObject({ rejected: 4, officialResolved: 8, pct: 50, rows: 2 });
    const [low, high] = answer.pooled.interval ?? [0, 0];
    // a task has 0, 1, 1 or 2 of 2 rejected
    expect(low).toBeGreaterThanOrEqual(0);
    expect(low).toBeLessThan(50);
    expect(high).toBeGreaterThan(50);
    expect(answerOf(rows).pooled).toEqual(answer.pooled);
    expect(answer.mutants).toMatchObject({ rejected: 8, officialResolved: 8, pct: 100, interval: null, rows: 2 });
  });

  it("is broken down by property: with others, and by it alone", () => {
    expect(answer.properties).toEqual([
      {
        property: "value",
        probes: 5,
        tasks: 4,
        ranked: { attempts: 4, alone: 2 },
        references: { attempts: 8, alone: 6 },
      },
      {
        property: "resource.memory",
        probes: 2,
        tasks: 1,
        ranked: { attempts: 2, alone: 0 },
        references: { attempts: 2, alone: 0 },
      },
    ]);
  });

  it("is broken down by task, down to the attempts", () => {
    expect(answer.tasks[0]).toMatchObject({
      ranked: { rejected: 0, officialResolved: 2 },
      references: { rejected: 2, officialResolved: 3 },
      rejected: [{ model: "reference: mutant-2" }, { model: "reference: mutant-10" }],
    });
    expect(answer.tasks[3]?.rejected.map(({ model }) => model)).toEqual([
      "Alpha",
      "Beta",
      "reference: mutant-2",
      "reference: mutant-10",
    ]);
    expect(answer.tasks[3]?.properties).toEqual([
      { property: "value", attempts: 4 },
      { property: "resource.memory", attempts: 1 },
    ]);
  });

  it("reads as a sentence, with entries, with reference sets alone, and with nothing", () => {
    expect(probesFinding(answer).headline).toBe("Probes reject 4 of 8 attempts that pass every official test.");
    expect(probesFinding(answer).lead).toContain("every rank set would be the same");
    expect(probesFinding(answerOf(rows.slice(2)))).toMatchObject({
      headline: "Probes reject all 8 mutants that pass every official test.",
      lead: expect.stringContaining("No model is ranked on"),
    });
    expect(probesFinding(answerOf([])).headline).toContain("is not known here");
  });

  it("goes out as CSV and Markdown", () => {
    const lines = probesCsv(answer).split("\r\n");
    expect(lines).toHaveLength(7);
    expect(lines[1]).toMatch(/^alpha,model,Alpha,,verified,100,75,4,1,25,4\.55\d+,69\.93\d+,1,2,1,2,/);
    expect(probesMarkdown(answer)).toContain("| Beta | 100.0 | 25.0 | 75.0 | 3/4 | 1–2 | 1–2 |");
  });
});

describe("a published table", () => {
  const cell = (printed: string, unit = "%") => ({ value: Number(printed), printed, unit });
  const row = (key: string, official: string, both: string) => ({
    ...{ key, label: key.toUpperCase(), footnote: null },
    cells: { official_pct: cell(official), with_probes_pct: cell(both) },
  });
  const table = (rows: PublishedProbes["table"]["rows"]): PublishedProbes["table"] => ({
    ...{ key: "table4", title: "Both", repository: "repo", missing: ["absent"], note: null, rows },
    columns: [
      { key: "official_pct", unit: "%" },
      { key: "with_probes_pct", unit: "%" },
    ],
  });
  const tasks = {
    ...{ key: "table1", title: "Tasks", repository: null, missing: [], note: null },
    columns: [{ key: "total", unit: "tasks" }],
    rows: [
      { key: "repo", label: "Repo", footnote: null, cells: { total: cell("19", "tasks") } },
      { key: "absent", label: "Absent One", footnote: null, cells: {} },
    ],
  };
  const claims = {
    ...{
      key: "claims",
      title: "Claims",
      repository: null,
      missing: [],
      note: null,
      columns: [{ key: "value", unit: "%" }],
    },
    rows: [{ key: "probe-rejection", label: "Rejected", footnote: null, cells: { value: cell("32") } }],
  };
  const source = { title: "Paper", url: "https://example.org", published: "2026-10-28" };
  const read = (rows: PublishedProbes["table"]["rows"], others = [tasks, claims]) =>
    publishedProbes([{ source, tables: [...others, table(rows)] }])[0];
  // the printed table: 13, 10, 7, 10, 10 of 19 against 10, 8, 5, 8, 8
  const printed = [
    row("a", "68.4", "52.6"),
    row("b", "52.6", "42.1"),
    row("c", "36.8", "26.3"),
    row("d", "52.6", "42.1"),
    row("e", "52.6", "42.1"),
  ];

  it("comes to counts where its percentages determine them", () => {
    const found = read(printed);
    expect(found).toMatchObject({
      recomputed: { officialResolved: 50, rejected: 11, rows: 5, tasks: 19 },
      statedPct: "32",
      missingNames: { absent: "Absent One" },
    });
    expect(found && recomputedInWords(found)).toBe(
      "Over the 19 tasks of the repository the percentages stand for 50 official-resolved attempts of five models; the probes reject 11 of them, 22.0\u202f%. The 32\u202f% that the text states for all repositories cannot be recomputed from this table, which lacks the others.",
    );
  });

  it("comes to none where they do not", () => {
    expect(read([row("a", "50.0", "42.1")])?.recomputed).toBeNull();
    expect(read(printed, [claims])?.recomputed).toBeNull();
    expect(publishedProbes([{ source, tables: [tasks, claims] }])).toEqual([]);
  });
});
