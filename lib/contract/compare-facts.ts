import type { BoardFacts } from "./board-facts";
import type { ComparedCell } from "./compare-api";

/** What the agent's run took on a task, means over the attempts; null where no attempt states it. */
export type RunFigures = Pick<ComparedCell, "timeMin" | "costUsd" | "tokensM" | "steps">;

/** Attempts of a submission with at least one failing case of a type. */
export interface FailureCount {
  submissionId: string;
  class: string;
  type: string;
  title: string;
  attempts: number;
}

/** Everything that a comparison is computed from, as the database keeps it. */
export interface ComparisonFacts {
  /** Every board of the suite version that has a row. */
  boards: readonly BoardFacts[];
  /** By submission, then by task; a task that was never attempted has none. */
  runs: ReadonlyMap<string, ReadonlyMap<string, RunFigures>>;
  /** In the taxonomy's order. */
  failures: readonly FailureCount[];
}
