import type { Board, BoardRow, Share } from "@/lib/contract/api";
import type { EntryAttempt, EntryDetail, EntryStanding, EntryTask } from "@/lib/contract/entry-api";
import type { EntryAttemptFacts, EntryFacts, EntryRunFacts, EntrySubmissionFacts } from "@/lib/contract/entry-facts";
import { type TaskVerdict, type Tier, taskVerdicts, tiers } from "@/lib/contract/vocabulary";
import { wilsonInterval } from "@/lib/stats/intervals";
import { customReasons } from "./entry-custom";
import { prepareFigures } from "./entry-figures";
import { type Publication, preparePublished } from "./entry-published";
import { prepareRepeats } from "./entry-repeats";

/** What stands for an entry on one suite version: its board, and the run of the submission that the board shows. */
export interface StandingFacts {
  board: Board;
  /** Null while the board shows none. */
  run: EntryRunFacts | null;
}

/** The row of an entry on a board, ranked, provisional or reference. */
export function entryRow(board: Board, slug: string): BoardRow | null {
  return [...board.rows, ...board.references].find((row) => row.entry.slug === slug) ?? null;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function attemptOf(facts: EntryAttemptFacts): EntryAttempt {
  const { ordinal, timeMin, costUsd, tokensM, steps, grading } = facts;
  return {
    ordinal,
    verdict: grading?.verdict ?? "missing",
    gradingId: grading?.id ?? null,
    status: grading?.status ?? null,
    tier: grading?.tier ?? null,
    requiredPassed: grading?.requiredPassed ?? null,
    requiredTotal: grading?.requiredTotal ?? null,
    timeMin,
    costUsd,
    tokensM,
    steps,
  };
}

const bestOf = (verdicts: readonly TaskVerdict[]): TaskVerdict =>
  taskVerdicts.find((verdict) => verdicts.includes(verdict)) ?? "missing";

function tasksOf(run: EntryRunFacts): EntryTask[] {
  return run.tasks.map(({ slug, title, category, type }) => {
    const tried = run.attempts.filter(({ task }) => task === slug);
    return {
      task: slug,
      title,
      category,
      type,
      verdict: bestOf(tried.map(({ grading }) => grading?.verdict ?? "missing")),
      score: tried.length > 0 ? sum(tried.map(({ grading }) => Number(grading?.resolved ?? false))) / tried.length : 0,
      attempts: tried.map(attemptOf),
    };
  });
}

/** Counts of yes and no with their Wilson interval, in per cent. */
function shareOf(resolved: number, total: number): Share {
  const [low, high] = wilsonInterval(resolved, total);
  return { resolved, total, pct: (100 * resolved) / total, interval: [100 * low, 100 * high] };
}

function failuresOf(run: EntryRunFacts): EntryStanding["failures"] {
  const judged = run.attempts.filter(
    ({ grading }) => grading?.status === "completed" || grading?.status === "candidate-timeout",
  ).length;
  if (judged === 0) return null;
  const types = run.failureTypes.map((one) => ({ ...one, share: shareOf(one.attempts, run.failing) }));
  return { judged, failing: run.failing, types };
}

/** Distinct values of what gradings state, most gradings first. */
function tally<T>(values: readonly T[], keyOf: (value: T) => string): { value: T; gradings: number }[] {
  const counts = new Map<string, { value: T; gradings: number }>();
  for (const value of values) {
    const known = counts.get(keyOf(value)) ?? { value, gradings: 0 };
    known.gradings += 1;
    counts.set(keyOf(value), known);
  }
  return [...counts.values()].sort(
    (a, b) => b.gradings - a.gradings || (keyOf(a.value) < keyOf(b.value) ? -1 : Number(a.value !== b.value)),
  );
}

function madeOf(run: EntryRunFacts): EntryStanding["made"] {
  const graded = run.attempts.flatMap(({ grading }) => grading ?? []);
  if (graded.length === 0) return null;
  const sorted = (values: readonly string[]) => [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
  return {
    gradings: graded.length,
    firstStartedAt: sorted(graded.map(({ startedAt }) => startedAt))[0] ?? "",
    lastFinishedAt: sorted(graded.map(({ finishedAt }) => finishedAt)).at(-1) ?? "",
    runnerVersions: sorted(graded.map(({ runnerVersion }) => runnerVersion)),
    executors: tally(
      graded.map(({ executor, sandboxed }) => ({ executor, sandboxed })),
      ({ executor, sandboxed }) => `${executor} ${sandboxed}`,
    ).map(({ value, gradings }) => ({ ...value, gradings })),
    hosts: tally(
      graded.map(({ hardware }) => hardware),
      (hardware) => hardware,
    ).map(({ value, gradings }) => ({ hardware: value, gradings })),
    operators: sorted(graded.flatMap(({ operator }) => operator ?? [])),
  };
}

/** Why a submission stands for its entry on the board, or why another one does. */
function reasonOf(submission: EntrySubmissionFacts, shown: EntrySubmissionFacts | undefined, count: number): string {
  if (!submission.summary) return "nothing of it is graded yet";
  if (submission === shown)
    return count === 1 ? "the only one" : `the newest of the highest tier, ${shown.summary?.tier}`;
  const tier = (of: EntrySubmissionFacts | undefined) => tiers.indexOf(of?.summary?.tier as Tier);
  return tier(submission) < tier(shown)
    ? `of a lower tier: ${submission.summary.tier}`
    : "older than the one that counts";
}

function submissionOf(
  submission: EntrySubmissionFacts,
  shown: EntrySubmissionFacts | undefined,
  count: number,
): EntryStanding["submissions"][number] {
  const { id, organization, publishedAt, attempts, summary } = submission;
  return {
    id,
    organization,
    tier: summary?.tier ?? null,
    publishedAt,
    attempts,
    graded: summary && summary.tier !== "reported" ? summary.gradedCount : 0,
    resolved: summary && {
      resolved: Number.isInteger(summary.resolvedCount) ? summary.resolvedCount : null,
      pct: summary.resolvedPct,
      total: summary.taskCount,
    },
    provisional: summary?.provisional ?? false,
    counts: submission === shown,
    why: reasonOf(submission, shown, count),
  };
}

/** Entries that stand next to it on its board, of its own kind. */
function neighboursOf(board: Board, row: BoardRow | null): EntryStanding["neighbours"] {
  if (!row) return [];
  const rows = row.entry.kind === "reference" ? board.references : board.rows;
  const at = rows.indexOf(row);
  return rows
    .slice(Math.max(0, at - 2), at + 3)
    .filter((other) => other !== row)
    .map(({ entry: { slug, model } }) => ({ slug, model }));
}

function prepareStanding(
  entry: EntryFacts,
  { suite, submissions }: EntryFacts["suites"][number],
  { board, run }: StandingFacts,
  publications: readonly Publication[],
): EntryStanding {
  const row = entryRow(board, entry.slug);
  const shown = submissions.find(({ id }) => id === row?.submissionId);
  const tasks = run && run.attempts.length > 0 ? tasksOf(run) : null;
  return {
    suite,
    ranked: board.rows.filter(({ rankSet }) => rankSet !== null).length,
    row,
    neighbours: neighboursOf(board, row),
    custom: customReasons(entry.candidate, suite.standard),
    figures: row ? prepareFigures(row, tasks ? run : null) : [],
    tasks,
    repeats:
      tasks &&
      prepareRepeats(
        tasks.map(({ attempts }) => ({
          attempts: attempts.length,
          resolved: attempts.filter(({ verdict }) => verdict === "resolved").length,
        })),
        suite.taskCount,
      ),
    failures: run && failuresOf(run),
    made: run && madeOf(run),
    published: row && shown ? preparePublished(entry.candidate, row, shown, publications) : null,
    submissions: submissions.map((submission) => submissionOf(submission, shown, submissions.length)),
  };
}

/**
 * Computes what an entry's page and its twin show. `standings` are in the order of `entry.suites`; `publications` are all
 * whose figures stand here. Pure and deterministic: every drawn statistic is seeded.
 */
export function prepareEntry(
  entry: EntryFacts,
  standings: readonly StandingFacts[],
  publications: readonly Publication[],
): EntryDetail {
  return {
    slug: entry.slug,
    candidate: entry.candidate,
    standings: entry.suites.flatMap((suite, index) => {
      const facts = standings[index];
      return facts ? [prepareStanding(entry, suite, facts, publications)] : [];
    }),
  };
}
