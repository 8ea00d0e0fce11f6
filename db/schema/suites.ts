import { boolean, index, integer, jsonb, pgTable, primaryKey, serial, text, unique } from "drizzle-orm/pg-core";
import type { InterfaceEntry, Manifest, ManifestTest, SuiteStandard } from "../../lib/contract/task";
import {
  categories,
  expectations,
  probesVisibilities,
  promptConditions,
  properties,
  taskTypes,
  testKinds,
} from "../../lib/contract/vocabulary";
import { instant, oneOf } from "./columns";
import { publishedSources } from "./published";
import { searchVector } from "./search-vector";

/** One row per suite version. Task counts per category stand here too, so unpublished tasks still have denominators. */
export const suites = pgTable(
  "suite",
  {
    id: serial("id").primaryKey(),
    slug: text("slug").notNull(),
    version: text("version").notNull(),
    title: text("title").notNull(),
    summary: text("summary").notNull(),
    probes: text("probes", { enum: probesVisibilities }).notNull(),
    taskCount: integer("task_count").notNull(),
    trainingCount: integer("training_count").notNull(),
    inferenceCount: integer("inference_count").notNull(),
    rlCount: integer("rl_count").notNull(),
    /** Set where the suite is known from a publication only. */
    sourceId: integer("source_id").references(() => publishedSources.id),
    /** The configuration that its rows are meant to share; null where it states none. */
    standard: jsonb("standard").$type<SuiteStandard>(),
    /** Place in pickers, smallest first. */
    position: integer("position").notNull().default(100),
    importedAt: instant("imported_at").notNull().defaultNow(),
  },
  (table) => [
    unique("suite_slug_version").on(table.slug, table.version),
    oneOf("suite_probes_word", table.probes, probesVisibilities),
  ],
);

export const tasks = pgTable(
  "task",
  {
    id: serial("id").primaryKey(),
    suiteId: integer("suite_id")
      .notNull()
      .references(() => suites.id),
    slug: text("slug").notNull(),
    title: text("title").notNull(),
    repo: text("repo").notNull(),
    category: text("category", { enum: categories }).notNull(),
    type: text("type", { enum: taskTypes }).notNull(),
    position: integer("position").notNull(),
    baseTree: text("base_tree").notNull(),
    baseCommit: text("base_commit"),
    gpusGrade: integer("gpus_grade").notNull(),
    /** Ranks of the widest launch. */
    ranks: integer("ranks").notNull(),
    gradingDigest: text("grading_digest").notNull(),
    manifest: jsonb("manifest").$type<Manifest>().notNull(),
    interfaces: jsonb("interfaces").$type<InterfaceEntry[]>().notNull(),
  },
  (table) => [
    unique("task_suite_slug").on(table.suiteId, table.slug),
    // claim: which queued jobs' tasks a host has
    index("task_grading_digest").on(table.gradingDigest),
    // search: tasks whose title, slug, repository or category hold a word
    index("task_search").using("gin", searchVector("task")),
    oneOf("task_category_word", table.category, categories),
    oneOf("task_type_word", table.type, taskTypes),
  ],
);

export const taskPrompts = pgTable(
  "task_prompt",
  {
    taskId: integer("task_id")
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    condition: text("condition", { enum: promptConditions }).notNull(),
    isDefault: boolean("is_default").notNull(),
    text: text("text").notNull(),
    digest: text("digest").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.taskId, table.condition] }),
    // search: tasks with a prompt that holds a word
    index("task_prompt_search").using("gin", searchVector("taskPrompt")),
    oneOf("task_prompt_condition_word", table.condition, promptConditions),
  ],
);

export const taskTests = pgTable(
  "task_test",
  {
    id: serial("id").primaryKey(),
    taskId: integer("task_id")
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    /** The test's id in the manifest: `tests/...` or `probes/...`. */
    name: text("name").notNull(),
    position: integer("position").notNull(),
    kind: text("kind", { enum: testKinds }).notNull(),
    expectation: text("expectation", { enum: expectations }).notNull(),
    property: text("property", { enum: properties }).notNull(),
    required: boolean("required").notNull(),
    definition: jsonb("definition").$type<ManifestTest>().notNull(),
  },
  (table) => [
    unique("task_test_task_name").on(table.taskId, table.name),
    // search: tests whose id or property hold a word
    index("task_test_search").using("gin", searchVector("taskTest")),
    oneOf("task_test_kind_word", table.kind, testKinds),
    oneOf("task_test_expectation_word", table.expectation, expectations),
    oneOf("task_test_property_word", table.property, properties),
  ],
);
