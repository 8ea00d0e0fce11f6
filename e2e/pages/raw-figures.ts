import postgres from "postgres";

/** A test in a grading, as its row says. */
export interface RawTest {
  id: string;
  kind: "official" | "probe";
  property: string;
  required: boolean;
  status: string;
}

export interface RawAttempt {
  task: string;
  title: string;
  category: string;
  gradingId: string;
  tests: RawTest[];
}

/** What a submission comes to, counted from the outcomes of its gradings and from nothing that is kept. */
export interface RawSubmission {
  id: string;
  slug: string;
  model: string;
  attempts: RawAttempt[];
}

export interface RawFigures {
  graded: RawSubmission[];
  /** Printed digits of the published tables by model: `table2` and `table3` in one. */
  published: Map<string, Record<string, string>>;
}

const address = process.env["DATABASE_URL"];

/**
 * Reads rows of outcomes, and figures as printed, out of the database of the site under test. Throws where no database
 * is named, and where an attempt has several gradings on time, since which one counts is the server's rule.
 */
export async function readRawFigures(suite: string): Promise<RawFigures> {
  if (!address) throw new Error("DATABASE_URL is not set: name the database of the site that INFRADEV_BASE_URL names");
  const sql = postgres(address, { max: 1, onnotice: () => {} });
  try {
    const rows = await sql<
      (RawTest & { submission: string; slug: string; model: string; task: string; title: string; category: string } & {
        grading: string;
      })[]
    >`
      select submission.id as submission, entry.slug, entry.model, task.slug as task, task.title, task.category,
             grading.id as grading, task_test.name as id, task_test.kind, task_test.property, task_test.required, outcome.status
      from submission
      join entry on entry.id = submission.entry_id
      join suite on suite.id = submission.suite_id and suite.slug = ${suite}
      join attempt on attempt.submission_id = submission.id
      join task on task.id = attempt.task_id
      join grading on grading.attempt_id = attempt.id and not grading.late and grading.status = 'completed'
      join outcome on outcome.grading_id = grading.id
      join task_test on task_test.id = outcome.test_id
      where submission.withdrawn_at is null and submission.published_at is not null
      order by submission.id, task.position, task_test.position`;
    const graded = new Map<string, RawSubmission>();
    for (const row of rows) {
      const of = graded.get(row.submission) ?? {
        id: row.submission,
        slug: row.slug,
        model: row.model,
        attempts: [],
      };
      graded.set(row.submission, of);
      let attempt = of.attempts.find(({ task }) => task === row.task);
      if (!attempt) {
        const { task, title, category } = row;
        attempt = { task, title, category, gradingId: row.grading, tests: [] };
        of.attempts.push(attempt);
      }
      if (attempt.gradingId !== row.grading) throw new Error(`${row.model} has several gradings of ${row.task}`);
      const { id, kind, property, required, status } = row;
      attempt.tests.push({ id, kind, property, required, status });
    }
    const figures = await sql<{ model: string; column: string; printed: string }[]>`
      select row_label as model, column_key as column, printed from published_figure where table_key in ('table2', 'table3')`;
    const published = new Map<string, Record<string, string>>();
    for (const { model, column, printed } of figures)
      published.set(model, { ...published.get(model), [column]: printed });
    return { graded: [...graded.values()], published };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const requiredOf = (attempt: RawAttempt, kind?: RawTest["kind"]): RawTest[] =>
  attempt.tests.filter((test) => test.required && (kind === undefined || test.kind === kind));
const passedOf = (tests: readonly RawTest[]) => tests.filter(({ status }) => status === "passed").length;

export function countsOf(attempt: RawAttempt) {
  const all = requiredOf(attempt);
  const official = requiredOf(attempt, "official");
  const resolved = passedOf(all) === all.length;
  const officialResolved = passedOf(official) === official.length;
  return {
    passed: passedOf(all),
    total: all.length,
    official: { passed: passedOf(official), total: official.length },
    probes: { passed: passedOf(requiredOf(attempt, "probe")), total: requiredOf(attempt, "probe").length },
    resolved,
    officialResolved,
    verdict: resolved ? "resolved" : officialResolved ? "official tests pass, probes reject" : "fails official tests",
  };
}

export function sumsOf(submission: RawSubmission) {
  const counts = submission.attempts.map((attempt) => ({ category: attempt.category, ...countsOf(attempt) }));
  const tasks = counts.length;
  const resolved = counts.filter((one) => one.resolved).length;
  const official = counts.filter((one) => one.officialResolved).length;
  const share = (part: number, whole: number) => (whole === 0 ? null : (100 * part) / whole);
  return {
    tasks,
    resolved,
    official,
    rejected: official - resolved,
    resolvedPct: share(resolved, tasks),
    officialPct: share(official, tasks),
    rejectedPct: share(official - resolved, official),
    passedPct: counts.reduce((sum, one) => sum + (100 * one.passed) / one.total, 0) / tasks,
    ofCategory: (category: string) => {
      const own = counts.filter((one) => one.category === category);
      const count = own.filter((one) => one.resolved).length;
      return { resolved: count, tasks: own.length, pct: share(count, own.length) };
    },
  };
}
