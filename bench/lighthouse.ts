import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createDatabase } from "../db/client";
import { repositoryRoot } from "../e2e/stack";
import { createReferenceSubmissions } from "../lib/server/admin/submissions";
import { addTestHost, startJob } from "../lib/server/testing";
import { loadSuite } from "../runner/suites/load";
import { type Figure, median, quartilesOf } from "./figure";
import { deliver, gradeTasks, openServer, packOnly, referenceSet } from "./graded";
import { prepareSite } from "./page";
import type { Session } from "./session";
import { syntheticSlug, syntheticTaskSlug } from "./synthetic-board";

/** The last one that runs on Node 20. */
const lighthouse = "lighthouse@12.8.2";
const categories = ["performance", "accessibility"] as const;
const limit = 95;
/** Of the bundled tasks the one with the largest patch. */
const gradedTask = "rollout-engine-refactor";
const board = { entries: 100, tasks: 36, seed: 20_250_101 };

interface Report {
  /** From 0 to 1, by category. */
  scores: Partial<Record<string, number>>;
  /** What the score of performance is made of, to read. */
  metrics: string;
}

/** Lighthouse's own scores of pages of the production site, on a phone as it simulates one. */
export async function measureLighthouse(session: Session, { repeats }: { repeats: number }): Promise<Figure[]> {
  const { site, databaseUrl, dataDir } = await prepareSite(session, board);
  const attempt = await gradeOne(session, { databaseUrl, dataDir });
  const figures: Figure[] = [];
  for (const [name, address, of] of [
    ["board", "/", `${board.entries} rows of ${board.tasks} tasks`],
    ["task", `/tasks/${syntheticSlug}/1.0/${syntheticTaskSlug(0)}`, `results of ${board.entries} entries`],
    ["graded task", `/tasks/${attempt.suite}/${attempt.version}/${attempt.task}`, "tests, prompts and interfaces"],
    ["attempt", `/submissions/${attempt.submissionId}/${attempt.task}`, "failures, outcomes, patch, logs, evidence"],
  ] as const) {
    session.say(`lighthouse looks at ${address}`);
    const url = new URL(address, site.url);
    // The page is made before anyone looks at the clock.
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url.href} answered with status ${answer.status}`);
    await answer.arrayBuffer();
    const reports: Report[] = [];
    for (let round = 0; round < repeats; round++) {
      const report = await lookAt(url, join(session.dir, "report.json"));
      if (report) reports.push(report);
    }
    for (const category of categories) {
      const scores = reports.map((report) => Math.round(100 * (report.scores[category] ?? 0)));
      const measured = scores.length > 0;
      figures.push({
        name: `lighthouse ${name}, ${category}`,
        what: `${category} of ${name === "board" ? "/" : `a page of ${address.split("/").slice(0, 2).join("/")}`}, ${of}`,
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

/** A mutant of a bundled task, graded by the runner and taken in by the server: an attempt with all that a page shows. */
async function gradeOne(session: Session, site: { databaseUrl: string; dataDir: string }) {
  const suite = await loadSuite(join(repositoryRoot, "runner/suites/infradev-mini"));
  const task = suite.tasks.find(({ metadata }) => metadata.slug === gradedTask);
  if (!task) throw new Error(`suite ${suite.file.slug} has no task ${gradedTask}`);
  const payload = (await gradeTasks(session, [task])).get(gradedTask);
  if (!payload) throw new Error(`nothing was graded for task ${gradedTask}`);
  const database = createDatabase(site.databaseUrl, { max: 2 });
  const pack = await packOnly(suite, [task]);
  const server = await openServer({ ...database, url: site.databaseUrl, drop: database.close }, site.dataDir, pack);
  try {
    const [submission] = await createReferenceSubmissions(server, {
      suite: pack.suite.slug,
      sets: [referenceSet],
      ifAbsent: false,
    });
    if (!submission) throw new Error("nothing was submitted");
    const host = await addTestHost(server, { trusted: true });
    await deliver(session, server, host, (await startJob(server, host)).job, payload);
    return { suite: pack.suite.slug, version: pack.suite.version, task: gradedTask, submissionId: submission.id };
  } finally {
    await server.close();
  }
}

const metrics = [
  "first-contentful-paint",
  "largest-contentful-paint",
  "total-blocking-time",
  "cumulative-layout-shift",
];

/** A look that ends without a score, as where the browser's trace has no beginning, is taken again so often. */
const looks = 3;

/** Null where the program could not be run. */
async function lookAt(url: URL, file: string): Promise<Report | null> {
  for (let look = 1; ; look++) {
    const report = await lookOnce(url, file);
    if (!report || categories.every((category) => report.scores[category] !== undefined)) return report;
    if (look === looks) throw new Error(`lighthouse gave no score for ${url.href} in ${looks} looks`);
  }
}

async function lookOnce(url: URL, file: string): Promise<Report | null> {
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
    scores: Object.fromEntries(
      Object.entries(report.categories).flatMap(([name, { score }]) => (score === null ? [] : [[name, score]])),
    ),
    metrics: metrics
      .flatMap((name) => report.audits[name] ?? [])
      .map(({ title, displayValue }) => `${title} ${displayValue}`)
      .join(", "),
  };
}
