import type { Board, BoardRow } from "./api";
import type { Category, GradingStatus, TaskVerdict, Tier } from "./vocabulary";

/** One task of a graded row, as its counting gradings left it. Tasks without any grading may be left out. */
export interface TaskFacts {
  task: string;
  /** `missing` where no grading counts. */
  verdict: TaskVerdict;
  /** Mean of `resolved` over the task's attempts, graded or not, 0 to 1. One attempt: 0 or 1. Missing: 0. */
  score: number;
  /** Mean of `official resolved` over the task's attempts, 0 to 1. */
  officialScore: number;
  /** Mean over the task's attempts of passed over required tests, 0 to 1. */
  passedShare: number;
  /** Attempts that pass every official test. */
  officialResolvedAttempts: number;
  /** Of these, the attempts that a probe rejects. */
  probeRejectedAttempts: number;
  /** Counts and status of the attempt whose verdict stands here. */
  requiredPassed: number | null;
  requiredTotal: number | null;
  status: GradingStatus | null;
}

/** Counts that a publication states; `null` where it states only a percentage. */
export interface ReportedShare {
  resolved: number | null;
  total: number;
  /** Per cent as published. */
  pct: number;
}

/** What a row's numbers rest on: graded tasks, or figures copied from a publication. */
type RowEvidence =
  | { kind: "graded"; tasks: TaskFacts[] }
  | {
      kind: "reported";
      resolved: ReportedShare;
      /** Null where the publication does not state it for the whole suite. */
      officialResolved: ReportedShare | null;
      passedPct: number | null;
      byCategory: (ReportedShare & { category: Category })[];
    };

/** One row of a board before any statistics. */
export interface BoardRowFacts {
  entry: BoardRow["entry"];
  submissionId: string;
  organization: string;
  tier: Tier;
  /** Gradings of this row are still queued or running: shown, marked, unranked, as after a fault of a host. */
  provisional?: boolean;
  evidence: RowEvidence;
  /** Per-task means of the agent's run, null where the source does not say. */
  timeMin: number | null;
  costUsd: number | null;
  tokensM: number | null;
  steps: number | null;
  /** Keys into the board's `notes`. */
  footnotes: string[];
  /** RFC 3339: publication date of a reported row, creation of a submission. */
  date: string;
}

/**
 * Everything a board is computed from, as the database keeps it: rows of models and of reference sets mixed
 * (`entry.kind` tells them apart), in any order.
 */
export interface BoardFacts {
  suite: Board["suite"];
  promptCondition: Board["promptCondition"];
  skill: string | null;
  rows: BoardRowFacts[];
  notes: Record<string, string>;
}
