import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createDatabase } from "../db/client";
import type { Figure } from "./figure";
import { prepareSite } from "./page";
import type { Session } from "./session";
import { syntheticSlug } from "./synthetic-board";

/** The last one that runs on Node 20. */
const lighthouse = "lighthouse@12.8.2";
const categories = ["performance", "accessibility"] as const;
const limit = 95;
const board = { entries: 100, tasks: 36, seed: 20_250_101 };

/** Lighthouse's own scores of three pages of the production site, on a phone as it simulates one. */
export async function measureLighthouse(session: Session): Promise<Figure[]> {
  const { site, databaseUrl } = await prepareSite(session, board);
  const { sql, close } = createDatabase(databaseUrl, { max: 1 });
  const [row] = await sql<{ submissionId: string; task: string }[]>`
    select attempt.submission_id as "submissionId", task.slug as task
    from attempt join task on task.id = attempt.task_id order by attempt.id limit 1`;
  await close();
  if (!row) throw new Error("the synthetic board has no attempts");
  const figures: Figure[] = [];
  for (const [name, address] of [
    ["board", "/"],
    ["task", `/tasks/${syntheticSlug}/1.0/${row.task}`],
    ["submission", `/submissions/${row.submissionId}`],
  ] as const) {
    session.say(`lighthouse looks at ${address}`);
    const url = new URL(address, site.url);
    // The page is made before anyone looks at the clock.
    await (await fetch(url)).arrayBuffer();
    const scores = await scoresOf(url, join(session.dir, `${name}.json`));
    for (const category of categories) {
      const score = scores === null ? null : Math.round(100 * (scores[category] ?? 0));
      figures.push({
        name: `lighthouse ${name}, ${category}`,
        what: `${category} of ${address.split("/").slice(0, 2).join("/")}`,
        value: score,
        unit: "points",
        quartiles: null,
        repeats: 1,
        budget: `at least ${limit} points`,
        met: score === null ? null : score >= limit,
        detail: scores === null ? `npm could not run ${lighthouse}` : "of 100, as Lighthouse weighs them",
      });
    }
  }
  return figures;
}

/** The scores from 0 to 1; null where the program could not be run. */
async function scoresOf(url: URL, report: string): Promise<Partial<Record<string, number>> | null> {
  const args = [
    "exec",
    "--yes",
    lighthouse,
    "--",
    url.href,
    "--quiet",
    `--only-categories=${categories.join(",")}`,
    "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
    "--output=json",
    `--output-path=${report}`,
  ];
  const child = spawn("npm", args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, CHROME_PATH: process.env["INFRADEV_CHROMIUM"] ?? "/usr/bin/chromium" },
  });
  const code = await new Promise<number | null>((settle) => {
    child.once("error", () => settle(null));
    child.once("exit", settle);
  });
  if (code !== 0) return null;
  const { categories: found } = JSON.parse(await readFile(report, "utf8")) as {
    categories: Record<string, { score: number | null }>;
  };
  return Object.fromEntries(Object.entries(found).map(([name, { score }]) => [name, score ?? 0]));
}
