import type { PromptCondition } from "../../lib/contract/vocabulary";
import type { SqlRunner } from "./queue";

export interface BoardChoice {
  suiteId: number;
  promptCondition: PromptCondition;
  skill: string | null;
}

/** The boards that have at least one published row, those without a skill first. */
export async function findBoardChoices(sql: SqlRunner): Promise<BoardChoice[]> {
  return sql<BoardChoice[]>`
    select distinct submission.suite_id as "suiteId", entry.prompt_condition as "promptCondition",
           entry.skill_name as skill
    from submission join entry on entry.id = submission.entry_id
    where submission.published_at is not null and submission.withdrawn_at is null
    order by 1, 3 nulls first, 2`;
}
