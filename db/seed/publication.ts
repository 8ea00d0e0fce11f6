import { readFileSync } from "node:fs";
import { z } from "zod";
import { slugSchema } from "../../lib/contract/scalars";
import { categories, taskTypes } from "../../lib/contract/vocabulary";

const count = z.int().nonnegative();
const percentage = z.number().min(0).max(100);
const figures = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
const partial = <R extends z.ZodType>(row: R) =>
  z.object({ repository: slugSchema, rows: z.array(row), missing: z.array(z.string()) });

/** The file of a publication's figures as they were printed; `missing` names what the copy lacks. */
const publicationSchema = z.object({
  source: z.object({ title: z.string(), arxiv: z.string(), url: z.url(), published: z.string(), extent: z.string() }),
  models: z.array(z.object({ slug: slugSchema, name: z.string() })),
  repositories: z.array(z.object({ slug: slugSchema, name: z.string(), category: z.enum(categories) })),
  task_types: z.record(z.enum(taskTypes), z.string()),
  metrics: z.record(z.string(), z.string()),
  table1_tasks: z.array(
    z.object({
      repository: slugSchema,
      feature: count,
      performance: count,
      refactor: count,
      bugfix: count,
      total: count,
    }),
  ),
  table2_overall: z.array(
    z.object({
      model: slugSchema,
      resolved_pct: percentage,
      passed_pct: percentage,
      time_min: z.number(),
      cost_usd: z.number(),
      tokens_m: z.number(),
      note: z.string().optional(),
    }),
  ),
  notes: z.record(z.string(), z.string()),
  table3_resolved_pct_by_category: z.array(
    z.object({ model: slugSchema, training: percentage, inference: percentage, rl: percentage }),
  ),
  category_task_counts: z.object({ training: count, inference: count, rl: count }),
  derived_resolved_counts: z
    .object({ how: z.string() })
    .catchall(z.object({ training: count, inference: count, rl: count, total: count })),
  table4_resolved_pct_official_vs_probes: partial(
    z.object({ model: slugSchema, official_pct: percentage, with_probes_pct: percentage }),
  ),
  table5_per_repository: partial(
    z.object({
      model: slugSchema,
      resolved_pct: percentage,
      passed_pct: percentage,
      time_min: z.number(),
      steps: z.number(),
      cost_usd: z.number(),
      tokens_m: z.number(),
    }),
  ),
  table6_token_components: partial(
    z.object({
      model: slugSchema,
      input_m: z.number(),
      cache_read_m: z.number(),
      output_m: z.number(),
      reasoning_m: z.number(),
    }),
  ),
  table7_failure_taxonomy: z.object({
    counted: z.string(),
    rule: z.string(),
    rows: z.array(z.object({ class: z.string(), type: z.string().nullable(), label: z.string() }).and(figures)),
    missing: z.array(z.string()),
  }),
  claims: z.object({
    probe_rejection_pct: percentage,
    probe_rejection_meaning: z.string(),
    resolved_pct_with_pr_description_prompt: percentage,
    shared_environment: z.object({
      storage_cut_pct: z.tuple([percentage, percentage]),
      build_time_cut_pct: z.tuple([percentage, percentage]),
      repositories: z.array(slugSchema),
    }),
    skill_gain_points_megatron: z.number(),
    agent_tests_rarely_check: z.array(z.string()),
    dominant_failures: z.array(z.string()),
  }),
});
export type Publication = z.infer<typeof publicationSchema>;

export function readPublication(): Publication {
  return publicationSchema.parse(
    JSON.parse(readFileSync(new URL("./infradev-2610.36589.json", import.meta.url), "utf8")),
  );
}

export interface PublishedTable {
  key: string;
  title: string;
  repository: string | null;
  missing: string[];
  note: string | null;
  rows: {
    key: string;
    label: string;
    footnote: string | null;
    cells: { column: string; value: number; unit: string; printed: string }[];
  }[];
}

const units: Record<string, string> = {
  resolved_pct: "%",
  passed_pct: "%",
  official_pct: "%",
  with_probes_pct: "%",
  time_min: "min",
  cost_usd: "USD",
  tokens_m: "M tokens",
  input_m: "M tokens",
  cache_read_m: "M tokens",
  output_m: "M tokens",
  reasoning_m: "M tokens",
  steps: "turns",
  training: "%",
  inference: "%",
  rl: "%",
};
/** Digits after the point, as the publication prints each column; counts have none. */
const decimals: Record<string, number> = {
  cost_usd: 2,
  tokens_m: 2,
  input_m: 3,
  cache_read_m: 3,
  output_m: 3,
  reasoning_m: 3,
  ...Object.fromEntries(
    [
      "resolved_pct",
      "passed_pct",
      "official_pct",
      "with_probes_pct",
      "time_min",
      "steps",
      "training",
      "inference",
      "rl",
    ].map((column) => [column, 1]),
  ),
};

/** Every figure of tables 1-7 and the text's claims, each under its table, row and column. */
export function publishedTablesOf(publication: Publication): PublishedTable[] {
  const modelName = new Map(publication.models.map((model) => [model.slug, model.name]));
  const repositoryName = new Map(publication.repositories.map((repository) => [repository.slug, repository.name]));
  const cellsOf = (row: Record<string, unknown>, unit?: string) =>
    Object.entries(row).flatMap(([column, value]) =>
      typeof value === "number"
        ? [
            {
              column,
              value,
              unit: unit ?? units[column] ?? "",
              printed: value.toFixed(unit ? 0 : (decimals[column] ?? 0)),
            },
          ]
        : [],
    );
  const byModel = (rows: ({ model: string; note?: string | undefined } & Record<string, unknown>)[]) =>
    rows.map((row) => ({
      key: row.model,
      label: modelName.get(row.model) ?? row.model,
      footnote: row.note ? (publication.notes[row.note] ?? null) : null,
      cells: cellsOf(row),
    }));
  const { claims } = publication;
  const claim = (key: string, label: string, cells: [column: string, value: number, unit: string][]) => ({
    key,
    label,
    footnote: null,
    cells: cells.map(([column, value, unit]) => ({ column, value, unit, printed: String(value) })),
  });
  return [
    {
      key: "table1",
      title: "Tasks by repository and type",
      repository: null,
      missing: [],
      note: null,
      rows: publication.table1_tasks.map((row) => ({
        key: row.repository,
        label: repositoryName.get(row.repository) ?? row.repository,
        footnote: null,
        cells: cellsOf(row, "tasks"),
      })),
    },
    {
      key: "table2",
      title: "Overall results on 36 tasks",
      repository: null,
      missing: [],
      note: null,
      rows: byModel(publication.table2_overall),
    },
    {
      key: "table3",
      title: "Resolved by category",
      repository: null,
      missing: [],
      note: null,
      rows: byModel(publication.table3_resolved_pct_by_category),
    },
    {
      key: "table4",
      title: "Resolved by official tests alone, and with probes",
      repository: publication.table4_resolved_pct_official_vs_probes.repository,
      missing: publication.table4_resolved_pct_official_vs_probes.missing,
      note: null,
      rows: byModel(publication.table4_resolved_pct_official_vs_probes.rows),
    },
    {
      key: "table5",
      title: "Results per repository",
      repository: publication.table5_per_repository.repository,
      missing: publication.table5_per_repository.missing,
      note: null,
      rows: byModel(publication.table5_per_repository.rows),
    },
    {
      key: "table6",
      title: "Token components",
      repository: publication.table6_token_components.repository,
      missing: publication.table6_token_components.missing,
      note: publication.metrics["reasoning_m"] ?? null,
      rows: byModel(publication.table6_token_components.rows),
    },
    {
      key: "table7",
      title: "Failure taxonomy",
      repository: null,
      missing: publication.table7_failure_taxonomy.missing,
      note: `${publication.table7_failure_taxonomy.counted}. ${publication.table7_failure_taxonomy.rule}.`,
      rows: publication.table7_failure_taxonomy.rows.map((row) => ({
        key: `${row.class}.${row.type ?? "any"}`,
        label: row.label,
        footnote: null,
        cells: cellsOf(row, "submissions"),
      })),
    },
    {
      key: "claims",
      title: "Figures stated in the text",
      repository: null,
      missing: [],
      note: null,
      rows: [
        claim("probe-rejection", `Probe rejection: ${claims.probe_rejection_meaning}`, [
          ["value", claims.probe_rejection_pct, "%"],
        ]),
        claim("pr-description", "Resolved with the pull request's description as the prompt", [
          ["value", claims.resolved_pct_with_pr_description_prompt, "%"],
        ]),
        claim("storage-cut", "Storage saved by the shared execution environment", [
          ["from", claims.shared_environment.storage_cut_pct[0], "%"],
          ["to", claims.shared_environment.storage_cut_pct[1], "%"],
        ]),
        claim("build-time-cut", "Build time saved by the shared execution environment", [
          ["from", claims.shared_environment.build_time_cut_pct[0], "%"],
          ["to", claims.shared_environment.build_time_cut_pct[1], "%"],
        ]),
        claim("skill-gain", "Gain by the skill on Megatron-LM", [
          ["value", claims.skill_gain_points_megatron, "percentage points"],
        ]),
      ],
    },
  ];
}
