import type { Property } from "../contract/vocabulary";
import { cutTests } from "./added-code";
import { logicalLines, simpleStatements, withoutStringsAndComments } from "./python-text";
import { assertion, type Rule, rules } from "./rules";

const target = String.raw`[A-Za-z_][\w.]*(?:\[[^\]]*\])?`;
const assigned = new RegExp(String.raw`^\s*(${target}(?:\s*,\s*${target})*)\s*(?::[^=]+)?[-+*/]?=(?!=)(.*)$`);
/** The last name of what is assigned to: `peak` of `self.peak[rank]`. */
const nameOf = (assignee: string) => /(\w+)\s*(?:\[.*)?$/.exec(assignee)?.[1] ?? "";
const boundInWith = /^\s*(?:async\s+)?with\b(.*)\bas\s+(\w+)/;
const defined = /^\s*(?:async\s+)?def\s+(\w+)/;

export const asserts = (line: string) => assertion.test(line) && !defined.test(line);

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

/** Whether a quantity that the meter takes reaches a line that `reads`, through assignments in the order of the statements. */
function isMeasured(
  lines: readonly string[],
  meter: RegExp,
  helpers: ReadonlySet<string>,
  reads: (line: string) => boolean,
): boolean {
  const names = new Set(helpers);
  for (const line of lines) {
    const measures = (text: string) => meter.test(text) || mentions(text, names);
    if (reads(line) && measures(line)) return true;
    const [, targets = "", value = ""] = assigned.exec(line) ?? [];
    if (targets && measures(value))
      for (const name of targets.split(",").map(nameOf)) if (name !== "_") names.add(name);
    const [, context = "", bound = ""] = boundInWith.exec(line) ?? [];
    if (bound && measures(context)) names.add(bound);
  }
  return false;
}

/** Whether statements check a property: `rest` are those of the same file that may hold helpers of theirs. */
export function follows(rule: Rule, lines: readonly string[], rest: readonly string[]): boolean {
  const asserting = lines.filter(asserts);
  if (asserting.length === 0) return false;
  const { asserted, anywhere, event, meter } = rule;
  if (asserted && asserting.some((line) => asserted.test(line))) return true;
  if (anywhere && lines.some((line) => anywhere.test(line))) return true;
  if (event) {
    const at = lines.findIndex((line) => event.test(line));
    if (at >= 0 && lines.slice(at + 1).some(asserts)) return true;
  }
  return meter !== undefined && isMeasured(lines, meter, meteringFunctions(rest, meter), asserts);
}

/** Shows what it is given to whoever ran the code. */
const shows = /(?:^|:)\s*(?:print|pprint|(?:logging|logger|log)\.\w+|sys\.std(?:out|err)\.write)\s*\(/;

/** Whether a measure of a resource is taken and shown: in code that an agent runs, it is there to be looked at. */
function isShown(rule: Rule, lines: readonly string[], rest: readonly string[]): boolean {
  const { asserted, meter } = rule;
  if (!rule.property.startsWith("resource.")) return false;
  const isRead = (line: string) => shows.test(line) && !defined.test(line);
  if (asserted && lines.some((line) => isRead(line) && asserted.test(line))) return true;
  return meter !== undefined && isMeasured(lines, meter, meteringFunctions(rest, meter), isRead);
}

/**
 * Properties that Python code checks which an agent ran itself: by the rules of tests, and resources also where a
 * measure is printed. Each test function is judged by itself, the rest as one more.
 */
export function codeChecks(code: string): Property[] {
  const { tests, rest } = cutTests(simpleStatements(logicalLines(withoutStringsAndComments(code, "interpolations"))));
  const units = [...tests.map(({ lines }) => lines), rest];
  return rules
    .filter((rule) => units.some((lines) => follows(rule, lines, rest) || isShown(rule, lines, rest)))
    .map(({ property }) => property);
}
