import type { PromptCondition } from "@/lib/contract/vocabulary";

/** A suite that a reader can choose: its versions, newest first, each with the boards that have a row. */
export interface SuiteChoice {
  slug: string;
  title: string;
  taskCount: number;
  versions: readonly {
    version: string;
    boards: readonly { promptCondition: PromptCondition; skill: string | null }[];
  }[];
}
