import { type EntryHit, searchGroupLimit, type TaskHit, type TestHit } from "../../lib/contract/search-api";
import { searchVectors } from "../schema/search-vector";
import type { SqlRunner } from "./queue";

/** The best hits of a group, and how many there are in all. */
export interface Found<T> {
  count: number;
  hits: T[];
}

const counted = <T extends object>(rows: readonly (T & { total: number })[]): Found<T> => ({
  count: rows[0]?.total ?? 0,
  hits: rows.map(({ total: _total, ...hit }) => hit as unknown as T),
});

/** A word as a query of its own: anything that begins so. Words are letters and digits, so nothing in them needs care. */
const prefixQuery = (word: string) => `'${word}':*`;
const everyWord = (words: readonly string[]) => words.map(prefixQuery).join(" & ");

/** Part of a prompt that an excerpt is made of, in characters. */
const pieceLength = 220;

/** A piece of a prompt around the first of the words, and whether text was left out on either side. */
interface Piece {
  piece: string | null;
  before: boolean | null;
  after: boolean | null;
}

/**
 * Tasks that have every word in title, slug, repository, category or a prompt; a name counts for more than a prompt.
 * Of a task in several versions of its suite the newest that matches.
 */
export async function searchTasks(
  sql: SqlRunner,
  words: readonly string[],
): Promise<Found<Omit<TaskHit, "excerpt"> & Piece>> {
  const queries = words.map(prefixQuery);
  return counted(
    await sql<(Omit<TaskHit, "excerpt"> & Piece & { total: number })[]>`
      with term as (
        select n, to_tsquery('simple', text) as query from unnest(${queries}::text[]) with ordinality as given (text, n)
      ),
      hit as (
        select task.id, term.n, 4 * ts_rank(${sql.unsafe(searchVectors.task)}, term.query) as rank
        from term join task on ${sql.unsafe(searchVectors.task)} @@ term.query
        union all
        select task_prompt.task_id, term.n, ts_rank(${sql.unsafe(searchVectors.taskPrompt)}, term.query)
        from term join task_prompt on ${sql.unsafe(searchVectors.taskPrompt)} @@ term.query
      ),
      matched as (
        select id, sum(rank) as rank from hit group by id having count(distinct n) = ${words.length}
      ),
      newest as (
        select distinct on (suite.slug, task.slug)
               task.id, task.slug, task.title, task.repo, task.category, suite.slug as suite_slug,
               suite.version, suite.title as suite_title, matched.rank
        from matched
        join task on task.id = matched.id
        join suite on suite.id = task.suite_id
        order by suite.slug, task.slug, string_to_array(suite.version, '.')::int[] desc
      ),
      best as (
        select newest.*, count(*) over ()::int as total from newest
        order by rank desc, suite_slug, slug limit ${searchGroupLimit}
      )
      select best.suite_slug as "suite", best.version as "suiteVersion", best.slug as "task",
             best.title as "taskTitle", best.suite_title as "suiteTitle", best.repo, best.category, best.total,
             substr(prompt.text, prompt.start, ${pieceLength}) as piece,
             prompt.start > 1 as before,
             length(prompt.text) >= prompt.start + ${pieceLength} as after
      from best
      left join lateral (
        select text, greatest(1, place - ${Math.floor(pieceLength / 3)}) as start
        from (
          select task_prompt.text, task_prompt.is_default,
                 (select min(nullif(strpos(lower(task_prompt.text), word), 0)) from unnest(${words}::text[]) as word) as place
          from task_prompt where task_prompt.task_id = best.id
        ) as placed
        where place is not null order by is_default desc limit 1
      ) as prompt on true
      order by best.rank desc, best.suite_slug, best.slug`,
  );
}

/**
 * Entries with a published submission that have every word in model, agent, effort, skill or slug, or the whole query
 * inside the model's name: names in scripts without spaces have no words to look for.
 */
export async function searchEntries(sql: SqlRunner, words: readonly string[], query: string): Promise<Found<EntryHit>> {
  const vector = sql.unsafe(searchVectors.entry);
  return counted(
    await sql<(EntryHit & { total: number })[]>`
      select entry.slug, entry.kind, entry.model, entry.agent, entry.agent_version as "agentVersion",
             entry.reasoning_effort as "reasoningEffort", entry.prompt_condition as "promptCondition",
             entry.skill_name as skill, shown.suites, count(*) over ()::int as total
      from entry
      join lateral (
        select array_agg(distinct suite.title || ' ' || suite.version) as suites
        from submission join suite on suite.id = submission.suite_id
        where submission.entry_id = entry.id
          and submission.published_at is not null and submission.withdrawn_at is null
      ) as shown on shown.suites is not null
      where ${vector} @@ to_tsquery('simple', ${everyWord(words)}) or strpos(lower(entry.model), ${query.toLowerCase()}) > 0
      order by entry.kind, ts_rank(${vector}, to_tsquery('simple', ${everyWord(words)})) desc, entry.model, entry.slug
      limit ${searchGroupLimit}`,
  );
}

/** Tests that have every word in id or property, of the newest suite version that has the test. Nothing else of a test is looked at. */
export async function searchTests(sql: SqlRunner, words: readonly string[]): Promise<Found<TestHit>> {
  return counted(
    await sql<(TestHit & { total: number })[]>`
      with newest as (
        select distinct on (suite.slug, task.slug, task_test.name)
               suite.slug as "suite", suite.version as "suiteVersion", task.slug as "task", task.title as "taskTitle",
               task_test.name as id, task_test.kind, task_test.property, task_test.position,
               ts_rank(${sql.unsafe(searchVectors.taskTest)}, to_tsquery('simple', ${everyWord(words)})) as rank
        from task_test
        join task on task.id = task_test.task_id
        join suite on suite.id = task.suite_id
        where ${sql.unsafe(searchVectors.taskTest)} @@ to_tsquery('simple', ${everyWord(words)})
        order by suite.slug, task.slug, task_test.name, string_to_array(suite.version, '.')::int[] desc
      )
      select "suite", "suiteVersion", "task", "taskTitle", id, kind, property, count(*) over ()::int as total
      from newest order by rank desc, "suite", "task", position limit ${searchGroupLimit}`,
  );
}
