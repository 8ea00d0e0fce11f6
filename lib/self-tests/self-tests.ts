import { type Property, properties } from "../contract/vocabulary";
import { type AddedTestCode, addedTestCode } from "./added-code";
import { assertion, type Rule, rules } from "./rules";

/** What the tests check that a patch brings along. */
export interface SelfTests {
  /** Python test functions that the patch adds. */
  tests: number;
  /** Assertions among the test code that it adds. */
  assertions: number;
  /** Properties that this code checks, in the order of the vocabulary; none where it asserts nothing. */
  checks: Property[];
}

const target = String.raw`[A-Za-z_][\w.]*(?:\[[^\]]*\])?`;
const assigned = new RegExp(String.raw`^\s*(${target}(?:\s*,\s*${target})*)\s*(?::[^=]+)?[-+*/]?=(?!=)(.*)$`);
/** The last name of what is assigned to: `peak` of `self.peak[rank]`. */
const nameOf = (assignee: string) => /(\w+)\s*(?:\[.*)?$/.exec(assignee)?.[1] ?? "";
const boundInWith = /^\s*(?:async\s+)?with\b(.*)\bas\s+(\w+)/;
const defined = /^\s*(?:async\s+)?def\s+(\w+)/;

const asserts = (line: string) => assertion.test(line) && !defined.test(line);

const mentions = (text: string, names: ReadonlySet<string>) =>
  names.size > 0 && [...text.matchAll(/[A-Za-z_]\w*/g)].some(([word]) => names.has(word));

/** Functions among these statements whose body takes a quantity by the meter: calling one is taking it too. */
function meteringFunctions(lines: readonly string[], meter: RegExp): Set<string> {
  const found = new Set<string>();
  const open: { name: string; indent: number }[] = [];
  for (const line of lines) {
    const indent = line.length - line.trimStart().length;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const name = defined.exec(line)?.[1];
    if (name !== undefined) open.push({ name, indent });
    else if (meter.test(line)) for (const one of open) found.add(one.name);
  }
  return found;
}

/** Whether a quantity that the meter takes reaches an assertion, through assignments in the order of the statements. */
function isMeasured(lines: readonly string[], meter: RegExp, helpers: ReadonlySet<string>): boolean {
  const names = new Set(helpers);
  for (const line of lines) {
    const measures = (text: string) => meter.test(text) || mentions(text, names);
    if (asserts(line) && measures(line)) return true;
    const [, targets = "", value = ""] = assigned.exec(line) ?? [];
    if (targets && measures(value))
      for (const name of targets.split(",").map(nameOf)) if (name !== "_") names.add(name);
    const [, context = "", bound = ""] = boundInWith.exec(line) ?? [];
    if (bound && measures(context)) names.add(bound);
  }
  return false;
}

function follows(rule: Rule, lines: readonly string[], file: AddedTestCode): boolean {
  const asserting = lines.filter(asserts);
  if (asserting.length === 0) return false;
  const { asserted, anywhere, event, meter } = rule;
  if (asserted && asserting.some((line) => asserted.test(line))) return true;
  if (anywhere && lines.some((line) => anywhere.test(line))) return true;
  if (event) {
    const at = lines.findIndex((line) => event.test(line));
    if (at >= 0 && lines.slice(at + 1).some(asserts)) return true;
  }
  return meter !== undefined && isMeasured(lines, meter, meteringFunctions(file.rest, meter));
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
    rules.filter((rule) => units.some(({ lines, file }) => follows(rule, lines, file))).map(({ property }) => property),
  );
  return {
    tests: files.reduce((sum, { tests }) => sum + tests.length, 0),
    assertions: units.reduce((sum, { lines }) => sum + lines.filter(asserts).length, 0),
    checks: properties.filter((property) => checked.has(property)),
  };
}
