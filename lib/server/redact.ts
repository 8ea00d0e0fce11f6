import "server-only";
import type { AttemptDetail } from "@/lib/contract/api";

/**
 * What the public may see of an attempt where the suite's probes are hidden: of a probe its id, property and verdict.
 * A bundle's payload holds no more than this either; what would reveal a probe is sealed by the runner.
 */
export function redactHiddenProbes(detail: AttemptDetail): AttemptDetail {
  if (detail.task.probes === "open") return detail;
  return {
    ...detail,
    manifestTests: detail.manifestTests.map((test) =>
      test.kind === "probe" ? { ...test, condition: null, requirement: null, limit: null } : test,
    ),
    tests: detail.tests.map(({ usage, ...test }) =>
      test.kind === "probe"
        ? {
            ...test,
            resources: [],
            ranks: test.ranks.map((rank) => ({ ...rank, failure: null, logLine: null })),
          }
        : { ...test, ...(usage === undefined ? {} : { usage }) },
    ),
  };
}
