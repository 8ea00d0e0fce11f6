import { expect, test } from "vitest";
import { logHref, logName, logSteps, logViewPath, parseLogView } from "./log-view";

const gradingId = "6006dd62-4f5f-454f-bf87-ae18343d98bf";
const path = "ranks/launch-0/rank-1.stdout.log";

/** The view that an address leads to, by the way of the rewritten path. */
function opened(href: string) {
  const { pathname, searchParams } = new URL(href, "http://bench.test");
  return parseLogView(logViewPath(pathname, searchParams).split("/").slice(2));
}

test("an address with a line opens some lines above it, marks it and jumps to it", () => {
  const href = logHref({ gradingId, path: `payload/${path}`, line: 120 });
  expect(href).toBe(`/logs/${gradingId}/${path}?line=120#L120`);
  expect(opened(href)).toEqual({ gradingId, path, from: 110, line: 120 });
  expect(opened(logHref({ gradingId, path, line: 3 }))).toMatchObject({ from: 1, line: 3 });
});

test("an address without one opens where it says, from the first line by default", () => {
  expect(opened(logHref({ gradingId, path, from: 601 }))).toEqual({ gradingId, path, from: 601, line: null });
  expect(opened(logHref({ gradingId, path }))).toEqual({ gradingId, path, from: 1, line: null });
});

test("names with slashes, brackets and signs stay what they are", () => {
  const odd = "nccl/a b[1]?#%é.log";
  expect(opened(logHref({ gradingId, path: odd, line: 1 }))?.path).toBe(odd);
});

test("numbers that no line has ask for nothing, and no grading is no view", () => {
  for (const line of ["0", "-1", "1e3", "", "x", "9".repeat(40)])
    expect(opened(`/logs/${gradingId}/${path}?line=${line}`)).toMatchObject({ from: 1, line: null });
  expect(opened(`/logs/none/${path}?line=1`)).toBeNull();
  expect(parseLogView(["1", "0", gradingId, "%E0%A4%A"])).toBeNull();
  expect(parseLogView(["1", "0", gradingId])).toBeNull();
});

test("steps lead to the pages around, and nowhere beyond the ends", () => {
  expect(logSteps({ from: 1, lineCount: 300 })).toEqual({ first: null, previous: null, next: null, last: null });
  expect(logSteps({ from: 1, lineCount: 1000 })).toEqual({ first: null, previous: null, next: 301, last: 701 });
  expect(logSteps({ from: 110, lineCount: 1000 })).toEqual({ first: 1, previous: 1, next: 410, last: 701 });
  expect(logSteps({ from: 701, lineCount: 1000 })).toEqual({ first: 1, previous: 401, next: null, last: null });
});

test("a rank's log is named by rank, stream and launch", () => {
  expect(logName(path)).toBe("Rank 1, stdout, launch 0");
  expect(logName("guard.json")).toBe("guard.json");
});
