import parseDiff from "parse-diff";
import { logicalLines, longestLine, withoutStringsAndComments } from "./python-text";

/** What a patch adds to one file, as far as tests go. */
export interface AddedTestCode {
  path: string;
  /** Each added test function: decorators, signature and added body, one statement a line. */
  tests: { name: string; lines: string[] }[];
  /** Every other added statement of a test file: helpers, fixtures, lines within tests that were there before. */
  rest: string[];
}

const isTestFile = (path: string) => /(?:^|\/)tests?\/|(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$/.test(path);
const signature = /^\s*(?:async\s+)?def\s+(test\w*)\s*\(/;
const indentOf = (line: string) => line.length - line.trimStart().length;

/** Cuts statements into test functions, each with the decorators above it, and the rest. */
export function cutTests(lines: readonly string[]): Pick<AddedTestCode, "tests" | "rest"> {
  const tests: AddedTestCode["tests"] = [];
  const rest: string[] = [];
  let decorators: string[] = [];
  let open: { indent: number; lines: string[] } | null = null;
  for (const line of lines) {
    const name = signature.exec(line)?.[1];
    if (open && indentOf(line) <= open.indent) open = null;
    if (open) open.lines.push(line);
    else if (name !== undefined) {
      open = { indent: indentOf(line), lines: [...decorators, line] };
      tests.push({ name, lines: open.lines });
      decorators = [];
    } else if (line.trimStart().startsWith("@")) decorators.push(line);
    else {
      rest.push(...decorators, line);
      decorators = [];
    }
  }
  return { tests, rest: [...rest, ...decorators] };
}

/**
 * Test code that a unified diff adds to Python files. A test function whose name the patch takes away in the same file
 * is a test that was there before: what it adds there counts as the rest. Outside of test files only test functions
 * count. Text that is no diff adds nothing.
 */
export function addedTestCode(patch: string): AddedTestCode[] {
  return parseDiff(patch).flatMap((file) => {
    const path = file.to ?? "";
    if (!path.endsWith(".py")) return [];
    const changes = file.chunks.flatMap((chunk) => chunk.changes);
    const linesOf = (type: "add" | "del") =>
      changes
        .filter((change) => change.type === type && !change.content.startsWith("\\"))
        .map((change) => change.content.slice(1, longestLine));
    const before = new Set(linesOf("del").flatMap((line) => signature.exec(line)?.[1] ?? []));
    const { tests, rest } = cutTests(logicalLines(withoutStringsAndComments(linesOf("add").join("\n"))));
    const kept = tests.filter(({ name }) => before.has(name)).flatMap(({ lines }) => lines);
    const added = {
      path,
      tests: tests.filter(({ name }) => !before.has(name)),
      rest: isTestFile(path) ? [...rest, ...kept] : [],
    };
    return added.tests.length + added.rest.length > 0 ? [added] : [];
  });
}
