import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createDatabase } from "../db/client";
import { type Figure, median, quartilesOf } from "./figure";
import { prepareSite } from "./page";
import type { Session } from "./session";
import { syntheticSlug } from "./synthetic-board";

/** The last one that runs on Node 20. */
const lighthouse = "lighthouse@12.8.2";
const categories = ["performance", "accessibility"] as const;
const limit = 95;
const board = { entries: 100, tasks: 36, seed: 20_250_101 };

interface Report {
  /** From 0 to 1, by category. */
  scores: Partial<Record<string, number>>;
  /** What the score of performance is made of, to read. */
  metrics: string;
}

/** Lighthouse's own scores of three pages of the production site, on a phone as it simulates one. */
export async function measureLighthouse(session: Session, { repeats }: { repeats: number }): Promise<Figure[]> {
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
    const reports: Report[] = [];
    for (let round = 0; round < repeats; round++) {
      const report = await lookAt(url, join(session.dir, `${name}.json`));
      if (report) reports.push(report);
    }
    for (const category of categories) {
      const scores = reports.map((report) => Math.round(100 * (report.scores[category] ?? 0)));
      const measured = scores.length > 0;
      figures.push({
        name: `lighthouse ${name}, ${category}`,
        what: `${category} of ${address.split("/").slice(0, 2).join("/")}`,
        value: measured ? median(scores) : null,
        unit: "points",
        quartiles: measured ? quartilesOf(scores) : null,
        repeats: scores.length,
        budget: `at least ${limit} points`,
        met: measured ? median(scores) >= limit : null,
        detail: measured
          ? `at last ${category === "performance" ? reports.at(-1)?.metrics : `${scores.at(-1)}`}`
          : `npm could not run ${lighthouse}`,
      });
    }
  }
  return figures;
}

const metrics = [
  "first-contentful-paint",
  "largest-contentful-paint",
  "total-blocking-time",
  "cumulative-layout-shift",
];

/** Null where the program could not be run. */
async function lookAt(url: URL, file: string): Promise<Report | null> {
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
    `--output-path=${file}`,
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
  const report = JSON.parse(await readFile(file, "utf8")) as {
    categories: Record<string, { score: number | null }>;
    audits: Record<string, { title: string; displayValue?: string }>;
  };
  return {
    scores: Object.fromEntries(Object.entries(report.categories).map(([name, { score }]) => [name, score ?? 0])),
    metrics: metrics
      .flatMap((name) => report.audits[name] ?? [])
      .map(({ title, displayValue }) => `${title} ${displayValue}`)
      .join(", "),
  };
}
