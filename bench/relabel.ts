import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listFailureClusters } from "../db/queries/failure-clusters";
import { findFailureOverview, findFailureScope, listFailures } from "../db/queries/failures";
import { createTestDatabase, startTestServer, type TestDatabase } from "../db/testing";
import { repositoryRoot } from "../e2e/stack";
import { failurePageSize } from "../lib/contract/failures-api";
import type { FailureDetail } from "../lib/contract/result";
import type { OutcomeStatus } from "../lib/contract/vocabulary";
import { relabel } from "../lib/server/admin/relabel";
import { type Figure, median, quartilesOf, timed } from "./figure";
import type { Session } from "./session";
import { fillSyntheticBoard } from "./synthetic-board";

const limitMs = 60_000;
/** A view of failures is computed once for everybody, when something changed. */
const viewLimitMs = 2_000;
const tasks = 50;

/** A new version of the rules over a hundred thousand kept failures, as `npm run admin -- relabel` does it. */
export async function measureRelabel(
  session: Session,
  { repeats, quick }: { repeats: number; quick: boolean },
): Promise<Figure[]> {
  session.say("starting Postgres");
  const server = await startTestServer(join(session.dir, "postgres"), { durable: true });
  session.defer(() => server.stop());
  const database = await createTestDatabase(server.url);
  session.defer(() => database.close());
  session.say("filling a board");
  await fillSyntheticBoard(database.url, { entries: quick ? 10 : 100, tasks, seed: 20 });
  const failures = await addFailures(database);
  session.say(`${failures} failures`);
  const runs: number[] = [];
  for (let round = 0; round < repeats; round++) {
    await labelAsBefore(database);
    const { ms, result } = await timed(() => relabel({ database }, { dryRun: false }));
    if (result.labels !== failures) throw new Error(`${result.labels} of ${failures} failures were labelled`);
    session.say(`round ${round + 1}: ${(ms / 1000).toFixed(1)} s`);
    runs.push(ms);
  }
  const views = await readViews(database, repeats);
  return [
    ...views.map(
      ({ name, what, ms }): Figure => ({
        name,
        what,
        value: median(ms),
        unit: "ms",
        quartiles: quartilesOf(ms),
        repeats: ms.length,
        budget: `at most ${viewLimitMs} ms`,
        met: median(ms) <= viewLimitMs,
        detail: `over ${failures} failures; kept until a bundle or a label changes it`,
      }),
    ),
    {
      name: "relabel",
      what: "every kept failure labelled by new rules, in one transaction",
      value: median(runs),
      unit: "ms",
      quartiles: quartilesOf(runs),
      repeats,
      budget: `at most ${limitMs} ms`,
      met: median(runs) <= limitMs,
      detail: `${failures} failures, each with a new label and signature`,
    },
  ];
}

/** What the pages of failures ask, over all of them. */
async function readViews({ sql }: TestDatabase, repeats: number) {
  const scope = await findFailureScope(sql, {});
  if (!scope) throw new Error("there is no suite");
  const page = { offset: 0, limit: failurePageSize };
  const reads: { name: string; what: string; read: () => Promise<unknown> }[] = [
    {
      name: "failures overview",
      what: "counts by type and seven groupings",
      read: () => findFailureOverview(sql, scope),
    },
    { name: "failures list", what: "a page of cases", read: () => listFailures(sql, scope, page) },
    { name: "failures clusters", what: "the largest clusters", read: () => listFailureClusters(sql, scope, page) },
  ];
  await sql`vacuum analyze`;
  const views: { name: string; what: string; ms: number[] }[] = [];
  for (const { name, what, read } of reads) {
    await read();
    const ms: number[] = [];
    for (let round = 0; round < repeats; round++) ms.push((await timed(read)).ms);
    views.push({ name, what, ms });
  }
  return views;
}

/** Failures as they really look, one for every test of every grading, out of the corpus that the rules were made with. */
async function addFailures({ sql }: TestDatabase): Promise<number> {
  const folder = join(repositoryRoot, "lib/taxonomy/corpus");
  const cases = readdirSync(folder)
    // not the few labels given anew, which stand in a file of another form
    .filter((name) => name.endsWith(".json") && !name.endsWith(".relabelled.json"))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Kept[]);
  const details = cases.map(({ failure }) => failure && { phase: "call", secondaryOf: null, ...failure });
  await sql`
    create table synthetic_case as
    select (position - 1)::int as position, status, failure::jsonb as failure
    from unnest(${cases.map(({ status }) => status)}::text[],
                ${details.map((detail) => (detail ? JSON.stringify(detail) : null))}::text[])
         with ordinality as row (status, failure, position)`;
  await sql`
    create table synthetic_failure as
    select grading.id as grading_id, task_test.id as test_id, synthetic_case.status, synthetic_case.failure
    from grading
    join attempt on attempt.id = grading.attempt_id
    join task_test on task_test.task_id = attempt.task_id
    join synthetic_case on synthetic_case.position = abs(hashtext(grading.id::text || task_test.id)) % ${cases.length}::int`;
  await sql`
    insert into rank_outcome (grading_id, test_id, rank, status, failure)
    select grading_id, test_id, 0, status, failure from synthetic_failure`;
  const { count } = await sql`
    insert into failure (grading_id, test_id, status, root_rank, exception_type, message, line, signature, class, type,
                         tags, label_source)
    select grading_id, test_id, status, 0, failure ->> 'exceptionType', coalesce(failure ->> 'message', ''), '', '',
           'unclassified', 'unclassified', '[]', 'rule'
    from synthetic_failure`;
  await sql`analyze`;
  return count;
}

type Kept = { status: OutcomeStatus; failure: Omit<FailureDetail, "phase" | "secondaryOf"> | null };

/** Labels and signatures of an older version of the rules. */
async function labelAsBefore({ sql }: TestDatabase): Promise<void> {
  await sql`truncate label cascade`;
  await sql`
    insert into label (grading_id, test_id, class, type, source, rule, rules_version)
    select grading_id, test_id, 'unclassified', 'unclassified', 'rule', 'synthetic-rule', '0-synthetic' from failure`;
  await sql`update failure set signature = '', line = ''`;
  await sql`vacuum analyze failure`;
}
