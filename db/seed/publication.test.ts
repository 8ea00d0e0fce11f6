import { describe, expect, it } from "vitest";
import { publishedTablesOf, readPublication } from "./publication";

const publication = readPublication();
const roundedTo = (value: number, digits: number) => Number(value.toFixed(digits));

describe("the published figures agree with each other", () => {
  it("table 1 adds up to each repository's total and to 36 tasks", () => {
    for (const row of publication.table1_tasks)
      expect(row.feature + row.performance + row.refactor + row.bugfix).toBe(row.total);
    expect(publication.table1_tasks.reduce((sum, row) => sum + row.total, 0)).toBe(36);
    for (const row of publication.table1_tasks) {
      const category = publication.repositories.find(({ slug }) => slug === row.repository)?.category ?? "rl";
      expect(publication.category_task_counts[category]).toBe(row.total);
    }
  });

  it("table 3's percentages give whole counts that add up to table 2", () => {
    const counts = publication.category_task_counts;
    for (const row of publication.table3_resolved_pct_by_category) {
      const resolved = (["training", "inference", "rl"] as const).map((category) => {
        const fits = Array.from({ length: counts[category] + 1 }, (_, k) => k).filter(
          (k) => roundedTo((100 * k) / counts[category], 1) === row[category],
        );
        expect(fits, `${row.model} ${category}`).toHaveLength(1);
        return fits[0] ?? Number.NaN;
      });
      const total = resolved.reduce((sum, k) => sum + k, 0);
      const derived = publication.derived_resolved_counts[row.model];
      expect(derived).toEqual({ training: resolved[0], inference: resolved[1], rl: resolved[2], total });
      const overall = publication.table2_overall.find(({ model }) => model === row.model);
      expect(roundedTo((100 * total) / 36, 1)).toBe(overall?.resolved_pct);
    }
  });

  it("table 6's components add up to table 5's tokens within 0.01 million", () => {
    for (const row of publication.table6_token_components.rows) {
      const sum = row.input_m + row.cache_read_m + row.output_m + row.reasoning_m;
      const tokens =
        publication.table5_per_repository.rows.find(({ model }) => model === row.model)?.tokens_m ?? Number.NaN;
      expect(Math.abs(sum - tokens), row.model).toBeLessThanOrEqual(0.01);
    }
  });

  it("table 4 with probes, table 5 and table 3 name the same share for Megatron-LM", () => {
    for (const row of publication.table4_resolved_pct_official_vs_probes.rows) {
      expect(row.official_pct).toBeGreaterThanOrEqual(row.with_probes_pct);
      expect(publication.table5_per_repository.rows.find(({ model }) => model === row.model)?.resolved_pct).toBe(
        row.with_probes_pct,
      );
      expect(publication.table3_resolved_pct_by_category.find(({ model }) => model === row.model)?.training).toBe(
        row.with_probes_pct,
      );
    }
  });

  it("table 7's rows add up over the repositories", () => {
    for (const row of publication.table7_failure_taxonomy.rows)
      expect(Number(row["megatron-lm"]) + Number(row["verl"]) + Number(row["vllm"])).toBe(row["all"]);
  });

  it("every numeric figure of the file's tables becomes one queryable figure", () => {
    const numbersIn = (value: unknown): number =>
      typeof value === "number"
        ? 1
        : typeof value === "object" && value !== null
          ? Object.values(value).reduce<number>((sum, part) => sum + numbersIn(part), 0)
          : 0;
    const expected =
      numbersIn(publication.table1_tasks) +
      numbersIn(publication.table2_overall) +
      numbersIn(publication.table3_resolved_pct_by_category) +
      numbersIn(publication.table4_resolved_pct_official_vs_probes.rows) +
      numbersIn(publication.table5_per_repository.rows) +
      numbersIn(publication.table6_token_components.rows) +
      numbersIn(publication.table7_failure_taxonomy.rows) +
      numbersIn(publication.claims);
    const figures = publishedTablesOf(publication).flatMap((table) => table.rows.flatMap((row) => row.cells));
    expect(figures).toHaveLength(expected);
  });

  it("prints each figure with the digits of the publication", () => {
    for (const table of publishedTablesOf(publication))
      for (const row of table.rows) for (const cell of row.cells) expect(Number(cell.printed)).toBe(cell.value);
  });
});
