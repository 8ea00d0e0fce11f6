import { collectivesProblems } from "./collectives";
import type { HostRun } from "./state";

type SeenStep = "selftest" | "collectives" | "packing";

/** The steps that were made and saw something of this host, or of the grader on it, that must not be so. */
export function failedSteps({ selftest, collectives, packing }: HostRun): Set<SeenStep> {
  const failed = new Set<SeenStep>();
  const caught = selftest === null || selftest.results.every(({ verdict }) => verdict !== "passed");
  if (!caught || selftest?.controlResolved === false) failed.add("selftest");
  const told = collectives === null || collectives.rows.every(({ holds }) => holds);
  const measured = collectives === null || collectivesProblems(collectives).length === 0;
  if (!told || !measured || collectives?.withoutSharedMemory?.holds === false) failed.add("collectives");
  if (packing !== null && packing.problems.length > 0) failed.add("packing");
  return failed;
}
