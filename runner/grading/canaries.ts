import { randomBytes, randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

type Canary = { id: string; expected: "passed" | "failed" };

/** Guard items of one launch: where their file lies, and the order of all ids with the items placed among them. */
export type CanaryPlan = { folder: string; file: string; canaries: Canary[]; order: string[] };

const guardPrefix = "guard/";

/** Whether an id belongs to a guard item. */
export const isGuardId = (id: string): boolean => id.startsWith(guardPrefix);

/**
 * Writes a file of guard items into `folder` and places them: one that fails first, last and at random, one that
 * passes at random. Names and values are new for each launch.
 */
export async function placeCanaries(folder: string, tests: readonly string[]): Promise<CanaryPlan> {
  await mkdir(folder, { recursive: true });
  const file = `test_${randomBytes(6).toString("hex")}.py`;
  const item = (expected: Canary["expected"]): { canary: Canary; source: string } => {
    const name = `test_${randomBytes(6).toString("hex")}`;
    const value = randomInt(1, 2 ** 31);
    const other = expected === "passed" ? value : value + 1;
    return {
      canary: { id: `${guardPrefix}${file}::${name}`, expected },
      source: `def ${name}():\n    value = ${value}\n    assert value == ${other}\n`,
    };
  };
  const first = item("failed");
  const middle = item("failed");
  const passing = item("passed");
  const last = item("failed");
  const order = [...tests];
  for (const { canary } of [middle, passing]) order.splice(randomInt(0, order.length + 1), 0, canary.id);
  order.unshift(first.canary.id);
  order.push(last.canary.id);
  const items = [first, middle, passing, last];
  await writeFile(join(folder, file), items.map(({ source }) => source).join("\n\n"), { mode: 0o444 });
  return { folder, file, canaries: items.map(({ canary }) => canary), order };
}
