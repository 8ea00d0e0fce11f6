import { type Property, properties } from "../contract/vocabulary";
import { addedTestCode } from "./added-code";
import { asserts, follows } from "./code-checks";
import { rules } from "./rules";

/** What the tests check that a patch brings along. */
export interface SelfTests {
  /** Python test functions that the patch adds. */
  tests: number;
  /** Assertions among the test code that it adds. */
  assertions: number;
  /** Properties that this code checks, in the order of the vocabulary; none where it asserts nothing. */
  checks: Property[];
}

/**
 * Finds which properties the tests check that a patch adds, by the rules of `selfTestRulesVersion`: syntax alone, nothing
 * is run. Each added test function is judged by itself, what else is added to a test file as one more. Any text is taken;
 * one that is no unified diff adds no tests.
 */
export function findSelfTests(patch: string): SelfTests {
  const files = addedTestCode(patch);
  const units = files.flatMap((file) =>
    [...file.tests.map(({ lines }) => lines), file.rest].map((lines) => ({ file, lines })),
  );
  const checked = new Set(
    rules
      .filter((rule) => units.some(({ lines, file }) => follows(rule, lines, file.rest)))
      .map(({ property }) => property),
  );
  return {
    tests: files.reduce((sum, { tests }) => sum + tests.length, 0),
    assertions: units.reduce((sum, { lines }) => sum + lines.filter(asserts).length, 0),
    checks: properties.filter((property) => checked.has(property)),
  };
}
