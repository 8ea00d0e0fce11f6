import type { GradingStatus, OutcomeStatus } from "@/lib/contract/vocabulary";

/** What a grading says of itself while it runs; ids and statuses only, so it gives nothing of hidden probes away. */
export type ProgressEvent =
  | { type: "stage"; stage: "checkout" | "launching" | "bundling" }
  | { type: "launch-started"; launch: number; group: string; nproc: number; tests: number }
  | {
      type: "test";
      launch: number;
      id: string;
      status: OutcomeStatus;
      /** The first rank on which it did not pass, null where it passed on all. */
      rank: number | null;
      done: number;
      total: number;
    }
  | {
      type: "launch-finished";
      launch: number;
      group: string;
      durationMs: number;
      killed: string | null;
      relaunch: number;
    }
  | { type: "finished"; status: GradingStatus; passed: number; required: number };
