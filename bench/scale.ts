import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type postgres from "postgres";
import { createDatabase, type Database } from "../db/client";
import { startEmbedded } from "../db/embedded";
import { migrateDatabase } from "../db/migrate";
import { findBoardFacts } from "../db/queries/board";
import { findFailureScope, listFailures } from "../db/queries/failures";
import { findAttempt, findSubmission } from "../db/queries/submissions";
import { findTask } from "../db/queries/tasks";
import { withDatabase } from "../db/testing";
import { repositoryRoot } from "../e2e/stack";
import { type Figure, interleave, median, quartilesOf, ratiosOf, timed } from "./figure";
import type { Session } from "./session";
import { syntheticSlug } from "./synthetic-board";
import { addOtherOutcomes, fillSyntheticHistory, stampOf } from "./synthetic-history";

/** The design's, for a board of one page. */
const rankingLimitMs = 50;
/** Of every other page, whose answer is kept until something it shows changes. */
const pageLimitMs = 100;
const growthLimit = 1.5;
const warmups = 3;

/** What a query reads: one of the two databases, and rows in it that a page would show. */
interface Subject {
  db: Database;
  sql: postgres.Sql;
  submissionId: string;
  task: string;
}

const board = (version: string) => (subject: Subject) =>
  findBoardFacts(subject.db, { suite: syntheticSlug, version, promptCondition: "interface", skill: null });

const queries: { name: string; what: string; limitMs: number; read: (subject: Subject) => Promise<unknown> }[] = [
  { name: "ranking query", what: "a board of 100 rows of 36 tasks", limitMs: rankingLimitMs, read: board("2.0") },
  {
    name: "ranking query, 500 rows",
    what: "a board of 500 rows of 36 tasks",
    limitMs: 5 * rankingLimitMs,
    read: board("1.0"),
  },
  {
    name: "task query",
    what: "a task's page: tests, and what 100 entries made of them",
    limitMs: pageLimitMs,
    read: ({ db, task }) => findTask(db, { suite: syntheticSlug, version: "2.0", task }),
  },
  {
    name: "submission query",
    what: "a submission's page: 36 attempts",
    limitMs: pageLimitMs,
    read: ({ db, submissionId }) => findSubmission(db, submissionId),
  },
  {
    name: "attempt query",
    what: "an attempt's page: outcomes, ranks, files",
    limitMs: pageLimitMs,
    read: ({ db, submissionId, task }) => findAttempt(db, { submissionId, task }),
  },
  {
    name: "failures query",
    what: "the first 50 failing cases of a board of 100 entries",
    limitMs: pageLimitMs,
    read: async ({ sql }) => {
      const scope = await findFailureScope(sql, { suite: syntheticSlug, version: "2.0" });
      return scope && listFailures(sql, scope, { offset: 0, limit: 50 });
    },
  },
];

/** What pages ask the database, in one that holds years of submissions, and in the same one with a tenth of the outcomes. */
export async function measureScale(
  session: Session,
  { repeats, quick }: { repeats: number; quick: boolean },
): Promise<Figure[]> {
  const { few, many, counts } = await openHistories(session, quick);
  const figures: Figure[] = [];
  for (const { name, what, limitMs, read } of queries) {
    session.say(`${name}, ${repeats} times in each database`);
    const measure = (subject: Subject) => async () => {
      const { ms, result } = await timed(() => read(subject));
      if (!result) throw new Error(`${name} found nothing`);
      return ms;
    };
    const seen = await interleave({ few: measure(few), many: measure(many) }, { repeats, warmups });
    const growth = ratiosOf(seen.many, seen.few);
    figures.push(
      {
        name,
        what,
        value: median(seen.many),
        unit: "ms",
        quartiles: quartilesOf(seen.many),
        repeats,
        budget: `at most ${limitMs} ms`,
        met: median(seen.many) <= limitMs,
        detail: counts,
      },
      {
        name: `${name}, growth`,
        what: "the same against a database with a tenth of the outcomes",
        value: median(growth),
        unit: "x",
        quartiles: quartilesOf(growth),
        repeats,
        budget: `at most ${growthLimit} x`,
        met: median(growth) <= growthLimit,
        detail: `${median(seen.many).toFixed(1)} ms against ${median(seen.few).toFixed(1)} ms`,
      },
    );
  }
  return figures;
}

/** The two databases, made where they are not there yet, migrated where they are. */
async function openHistories(session: Session, quick: boolean) {
  const folder = join(repositoryRoot, ".data", "bench", quick ? "scale-quick" : "scale");
  await mkdir(folder, { recursive: true });
  session.say("starting Postgres");
  const server = await startEmbedded({
    dataDir: folder,
    settings: { fsync: "off", full_page_writes: "off", max_wal_size: "2GB" },
  });
  session.defer(() => server.stop());
  const names = { few: "synthetic_few", many: "synthetic_many" };
  const stamp = stampOf(quick);
  const admin = createDatabase(server.url, { max: 1 });
  session.defer(() => admin.close());
  const stamps = await admin.sql<{ stamp: string | null }[]>`
    select shobj_description(oid, 'pg_database') as stamp from pg_database where datname in ${admin.sql(Object.values(names))}`;
  if (stamps.length !== 2 || stamps.some((found) => found.stamp !== stamp)) {
    session.say(`filling ${folder}; it is kept for the next run`);
    for (const name of Object.values(names)) await admin.sql.unsafe(`drop database if exists ${name} with (force)`);
    await admin.sql.unsafe(`create database ${names.few}`);
    const attempts = await fillSyntheticHistory(withDatabase(server.url, names.few), { quick, say: session.say });
    session.say("copying the database, then the other outcomes");
    await admin.sql.unsafe(`create database ${names.many} template ${names.few}`);
    await addOtherOutcomes(withDatabase(server.url, names.many), attempts);
    for (const name of Object.values(names)) await admin.sql.unsafe(`comment on database ${name} is '${stamp}'`);
  }
  const open = async (name: string) => {
    await migrateDatabase(withDatabase(server.url, name));
    const handle = createDatabase(withDatabase(server.url, name), { max: 4 });
    session.defer(() => handle.close());
    const [row] = await handle.sql<{ submissionId: string; task: string }[]>`
      select submission.id as "submissionId", task.slug as task
      from submission join suite on suite.id = submission.suite_id join task on task.suite_id = suite.id
      where suite.version = '2.0' order by submission.id, task.position limit 1`;
    const [counted] = await handle.sql<{ submissions: number; attempts: number; outcomes: number }[]>`
      select (select count(*)::int from submission) as submissions, (select count(*)::int from attempt) as attempts,
             (select count(*)::int from outcome) as outcomes`;
    if (!row || !counted) throw new Error(`database ${name} is empty`);
    return { subject: { db: handle.db, sql: handle.sql, ...row }, counted };
  };
  const few = await open(names.few);
  const many = await open(names.many);
  const { submissions, attempts, outcomes } = many.counted;
  return {
    few: few.subject,
    many: many.subject,
    counts: `among ${submissions} submissions, ${attempts} attempts, ${outcomes} outcomes`,
  };
}
