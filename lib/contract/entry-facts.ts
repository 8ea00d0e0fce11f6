import type { EntryDetail, EntryStanding } from "./entry-api";
import type { Category, Executor, GradingStatus, TaskType, TaskVerdict, Tier } from "./vocabulary";

/** A published submission of an entry, with its summary where something of it is graded or was published. */
export interface EntrySubmissionFacts {
  id: string;
  organization: string;
  /** RFC 3339. */
  publishedAt: string;
  attempts: number;
  source: { key: string; title: string; url: string; published: string; extent: string } | null;
  footnotes: string[];
  summary: {
    tier: Tier;
    taskCount: number;
    gradedCount: number;
    resolvedCount: number | null;
    resolvedPct: number;
    provisional: boolean;
  } | null;
}

/** An entry, and its published submissions by suite version in the order of pickers, newest first within each. */
export interface EntryFacts {
  slug: string;
  candidate: EntryDetail["candidate"];
  suites: { suite: EntryStanding["suite"]; submissions: EntrySubmissionFacts[] }[];
}

/** One attempt of a submission, with its counting grading. */
export interface EntryAttemptFacts {
  task: string;
  ordinal: number;
  timeMin: number | null;
  costUsd: number | null;
  tokensM: number | null;
  steps: number | null;
  grading: {
    id: string;
    status: GradingStatus;
    verdict: TaskVerdict;
    tier: Tier;
    requiredPassed: number;
    requiredTotal: number;
    resolved: boolean;
    officialResolved: boolean;
    runnerVersion: string;
    executor: Executor;
    sandboxed: boolean;
    /** RFC 3339. */
    startedAt: string;
    finishedAt: string;
    hardware: string;
    /** Organization that operates the host; null where the vendor graded. */
    operator: string | null;
  } | null;
}

/** What the counting gradings of a submission hold. */
export interface EntryRunFacts {
  tasks: { slug: string; title: string; category: Category; type: TaskType }[];
  attempts: EntryAttemptFacts[];
  /** Distinct attempts with a failure, and by type. */
  failing: number;
  failureTypes: { class: string; type: string; title: string; attempts: number }[];
}
