import type { Board } from "./api";
import type { Property } from "./vocabulary";

/** What the probes' page is computed from beside the board. */
export interface ProbesFacts {
  board: Board;
  /** Attempts of each submission at each task that pass every official test, and those that a probe rejects. */
  counts: readonly { submissionId: string; task: string; officialResolved: number; rejected: number }[];
  /** Properties of the failing probes of each rejected attempt. */
  rejections: readonly { submissionId: string; attemptId: string; task: string; property: Property }[];
  /** Required probes of the suite by property. */
  probes: readonly { property: Property; probes: number; tasks: number }[];
}
