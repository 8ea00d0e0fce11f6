import { randomBytes, randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Launcher } from "@/lib/contract/vocabulary";

type Canary = { id: string; expected: "passed" | "failed" };
type Item = { canary: Canary; file: string; source: string };

/** Guard items of one launch: where their files lie, and the order of all ids with the items placed among them. */
export type CanaryPlan = { folder: string; files: string[]; canaries: Canary[]; order: string[] };

const guardPrefix = "guard/";

/** Whether an id belongs to a guard item. */
export const isGuardId = (id: string): boolean => id.startsWith(guardPrefix);

const word = (): string => `test_${randomBytes(6).toString("hex")}`;

/** A value, and what a guard item compares it with. */
function comparison(expected: Canary["expected"]): { value: number; other: number } {
  const value = randomInt(1, 2 ** 31);
  return { value, other: expected === "passed" ? value : value + 1 };
}

function testItem(file: string, expected: Canary["expected"]): Item {
  const name = word();
  const { value, other } = comparison(expected);
  const source = `def ${name}():\n    value = ${value}\n    assert value == ${other}\n`;
  return { canary: { id: `${guardPrefix}${file}::${name}`, expected }, file, source };
}

function programItem(expected: Canary["expected"]): Item {
  const file = `${word()}.py`;
  const { value, other } = comparison(expected);
  const source = `value = ${value}\nassert value == ${other}\n`;
  return { canary: { id: `${guardPrefix}${file}`, expected }, file, source };
}

/**
 * Writes guard items into `folder` and places them: one that fails first, last and at random, one that passes at
 * random. Names and values are new for each launch. They are tests of one file, or programs of their own where a
 * launch runs programs.
 */
export async function placeCanaries(folder: string, tests: readonly string[], launcher: Launcher): Promise<CanaryPlan> {
  await mkdir(folder, { recursive: true });
  const file = `${word()}.py`;
  const item = (expected: Canary["expected"]): Item =>
    launcher === "script" ? programItem(expected) : testItem(file, expected);
  const first = item("failed");
  const middle = item("failed");
  const passing = item("passed");
  const last = item("failed");
  const order = [...tests];
  // A program costs a start of Python, and shares no process with others that it could have tampered with in the middle.
  const between = launcher === "script" ? [passing] : [middle, passing];
  for (const { canary } of between) order.splice(randomInt(0, order.length + 1), 0, canary.id);
  order.unshift(first.canary.id);
  order.push(last.canary.id);
  const items = [first, ...between, last];
  const files = [...new Set(items.map((each) => each.file))];
  for (const name of files) {
    const sources = items.filter((each) => each.file === name).map(({ source }) => source);
    await writeFile(join(folder, name), sources.join("\n\n"), { mode: 0o444 });
  }
  return { folder, files, canaries: items.map(({ canary }) => canary), order };
}
