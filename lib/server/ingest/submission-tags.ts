import "server-only";
import type { SqlRunner } from "@/db/queries/queue";
import { cacheTags } from "../tags";

/** Names of everything cached that a change of this submission touches. */
export async function submissionTags(sql: SqlRunner, submissionId: string): Promise<string[]> {
  const [suite] = await sql<{ slug: string }[]>`
    select suite.slug from submission join suite on suite.id = submission.suite_id
    where submission.id = ${submissionId}`;
  return [cacheTags.submission(submissionId), cacheTags.failures, ...(suite ? [cacheTags.board(suite.slug)] : [])];
}
