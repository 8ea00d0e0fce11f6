import { XMLBuilder } from "fast-xml-parser";
import type { Launch, RankOutcome, Result, TestOutcome } from "@/lib/contract/result";
import type { OutcomeStatus } from "@/lib/contract/vocabulary";

const ctrfStatus: Record<OutcomeStatus, "passed" | "failed" | "skipped" | "other"> = {
  passed: "passed",
  failed: "failed",
  error: "failed",
  crashed: "failed",
  hung: "failed",
  skipped: "skipped",
  "not-run": "other",
};

const causeOf = (test: TestOutcome): RankOutcome | undefined =>
  test.ranks.find(({ rank }) => rank === test.rootRank) ?? test.ranks.find(({ failure }) => failure !== null);

const traceOf = (outcome: RankOutcome | undefined): string | undefined =>
  outcome?.failure?.frames
    .map(({ file, line, function: name, code }) => `${file}:${line} in ${name}${code === null ? "" : `: ${code}`}`)
    .join("\n");

/** The merged outcomes as a CTRF document (ctrf.io); durations in whole milliseconds. */
export function ctrfOf(result: Result): unknown {
  const count = (status: string) => result.tests.filter((test) => ctrfStatus[test.status] === status).length;
  return {
    reportFormat: "CTRF",
    specVersion: "0.0.0",
    results: {
      tool: { name: "infradev" },
      summary: {
        tests: result.tests.length,
        passed: count("passed"),
        failed: count("failed"),
        skipped: count("skipped"),
        pending: 0,
        other: count("other"),
        start: Date.parse(result.startedAt),
        stop: Date.parse(result.finishedAt),
      },
      tests: result.tests.map((test) => {
        const cause = test.status === "passed" ? undefined : causeOf(test);
        const trace = traceOf(cause);
        return {
          name: test.id,
          status: ctrfStatus[test.status],
          rawStatus: test.status,
          duration: Math.round(test.durationMs ?? 0),
          suite: test.group,
          ...(cause?.failure ? { message: cause.failure.message } : {}),
          ...(trace ? { trace } : {}),
          extra: { kind: test.kind, required: test.required, rootRank: test.rootRank },
        };
      }),
    },
  };
}

// XML 1.0 allows no other control characters, escaped or not.
const legal = (text: string): string =>
  text.replace(/\p{Cc}|[\ufffe\uffff]|\p{Cs}/gu, (c) => (c === "\n" || c === "\t" || c === "\r" ? c : "\ufffd"));

/** One rank's outcomes of a launch in JUnit's XML, made from the event stream. */
export function junitOf(
  launch: Launch,
  rank: number,
  outcomes: readonly { id: string; outcome: RankOutcome }[],
): string {
  const count = (...statuses: OutcomeStatus[]) =>
    outcomes.filter(({ outcome }) => statuses.includes(outcome.status)).length;
  const builder = new XMLBuilder({ ignoreAttributes: false, format: true, suppressEmptyNode: true });
  const body: string = builder.build({
    testsuites: {
      testsuite: {
        "@_name": `${launch.group} rank ${rank}`,
        "@_tests": outcomes.length,
        "@_failures": count("failed"),
        "@_errors": count("error", "crashed", "hung"),
        "@_skipped": count("skipped", "not-run"),
        "@_time": (launch.durationMs / 1000).toFixed(3),
        "@_timestamp": launch.startedAt,
        testcase: outcomes.map(({ id, outcome }) => {
          const [file = id, ...rest] = id.split("::");
          const message = legal(outcome.failure?.message ?? outcome.status);
          const detail = {
            "@_message": message.split("\n", 1)[0] ?? "",
            "@_type": legal(outcome.failure?.exceptionType ?? outcome.status),
            "#text": message,
          };
          const child =
            outcome.status === "passed"
              ? {}
              : outcome.status === "failed"
                ? { failure: detail }
                : outcome.status === "skipped" || outcome.status === "not-run"
                  ? { skipped: detail }
                  : { error: detail };
          return {
            "@_classname": legal(file),
            "@_name": legal(rest.join("::")),
            "@_time": ((outcome.durationMs ?? 0) / 1000).toFixed(6),
            ...child,
          };
        }),
      },
    },
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${body}`;
}
