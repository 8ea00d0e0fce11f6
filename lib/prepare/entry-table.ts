import type { EntryDetail } from "@/lib/contract/entry-api";
import { csvText } from "@/lib/format/tables";

const columns = [
  "suite",
  "version",
  "submission",
  "task",
  "category",
  "type",
  "verdict",
  "score",
  "attempt",
  "attempt_verdict",
  "required_passed",
  "required_total",
  "status",
  "evidence",
  "grading",
  "time_min",
  "cost_usd",
  "tokens_m",
  "steps",
] as const;

/**
 * An entry's tasks as CSV, one line for each attempt that counts on a board and for each task without one, over every
 * suite version that the entry stands on. Nothing but the header where no per-task data was published.
 */
export function entryTasksCsv(entry: EntryDetail): string {
  const lines = entry.standings.flatMap(({ suite, row, tasks }) =>
    (tasks ?? []).flatMap((task) => {
      const head = [
        suite.slug,
        suite.version,
        row?.submissionId ?? null,
        task.task,
        task.category,
        task.type,
        task.verdict,
        task.score,
      ];
      if (task.attempts.length === 0) return [[...head, ...columns.slice(head.length).map(() => null)]];
      return task.attempts.map((attempt) => [
        ...head,
        attempt.ordinal,
        attempt.verdict,
        attempt.requiredPassed,
        attempt.requiredTotal,
        attempt.status,
        attempt.tier,
        attempt.gradingId,
        attempt.timeMin,
        attempt.costUsd,
        attempt.tokensM,
        attempt.steps,
      ]);
    }),
  );
  return csvText([columns, ...lines]);
}
