import type { InfraDevError } from "@/lib/contract/errors";

/** `ok`; `note`: absent and not needed for CPU ranks; `missing`: grading cannot run without it. */
export type CheckState = "ok" | "note" | "missing";

/** What was found of one thing, and how to mend it where it is not as it should be. */
export type Finding = {
  state: CheckState;
  found: string;
  remedy: string | null;
  /** Code of the error that a command ends with here, and the place that it names. */
  code?: string;
  where?: string | null;
};

export const ok = (found: string): Finding => ({ state: "ok", found, remedy: null });
export const note = (found: string, remedy: string): Finding => ({ state: "note", found, remedy });
export const missing = (found: string, remedy: string): Finding => ({ state: "missing", found, remedy });
export const missingFor = ({ code, problem }: InfraDevError, otherwise: string): Finding => ({
  ...missing(problem.message, problem.remedy ?? otherwise),
  code,
  where: problem.where ?? null,
});
