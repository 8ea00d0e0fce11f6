import { type SQL, sql } from "drizzle-orm";

/**
 * The words of some columns, for an index and for the queries that use it: lower-cased, not stemmed. What holds names
 * together in code stands as a space, so that each part is a word of its own.
 */
const wordsOf = (columns: string) => `to_tsvector('simple', translate(${columns}, '-_/.:@+<>&', '          '))`;

/** Expressions by table, spelled once: an index serves only the expression that it was made of. */
export const searchVectors = {
  task: wordsOf(`"task"."title" || ' ' || "task"."slug" || ' ' || "task"."repo" || ' ' || "task"."category"`),
  taskPrompt: wordsOf(`left("task_prompt"."text", 200000)`),
  taskTest: wordsOf(`"task_test"."name" || ' ' || "task_test"."property"`),
  entry: wordsOf(
    `"entry"."model" || ' ' || coalesce("entry"."agent", '') || ' ' || coalesce("entry"."reasoning_effort", '') || ' ' || coalesce("entry"."skill_name", '') || ' ' || "entry"."slug"`,
  ),
} as const;

export const searchVector = (table: keyof typeof searchVectors): SQL => sql.raw(searchVectors[table]);
