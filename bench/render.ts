import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Browser, chromium } from "@playwright/test";
import { request } from "undici";
import { createDatabase } from "../db/client";
import { logHref } from "../lib/prepare/log-view";
import { type Figure, median, quartilesOf, timed } from "./figure";
import { prepareSite } from "./page";
import type { Session } from "./session";
import { syntheticSlug } from "./synthetic-board";

const board = { entries: 500, tasks: 36, seed: 20_250_101 };
const slowDown = 4;
const paintLimitMs = 1000;
const viewLimitKb = 150;
const logBytes = 200_000_000;
const logLimitMs = 1000;
const logPath = "payload/ranks/launch-1/rank-0.stdout.log";

/** What a reader waits for: the largest paint in a slow browser, another view of 500 rows, a line of a log of 200 MB. */
export async function measureRender(session: Session, { repeats }: { repeats: number }): Promise<Figure[]> {
  const { site, dataDir, databaseUrl } = await prepareSite(session, board);
  const subject = await addLog(databaseUrl, dataDir);
  session.say("starting Chromium");
  const browser = await chromium.launch({
    executablePath: process.env["INFRADEV_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  session.defer(() => browser.close());
  const pages = [
    { name: "paint of the board", address: "/" },
    { name: "paint of a task", address: `/tasks/${syntheticSlug}/1.0/${subject.task}` },
    { name: "paint of a submission", address: `/submissions/${subject.submissionId}` },
  ];
  const figures: Figure[] = [];
  for (const { name, address } of pages) {
    session.say(`${name}, ${repeats} times`);
    const url = new URL(address, site.url);
    // The page is made before anyone looks at the clock.
    await ask(url);
    const seen: number[] = [];
    for (let round = 0; round < repeats; round++) seen.push(await largestPaintMs(browser, url));
    figures.push({
      name,
      what: `largest contentful paint of ${address.split("/").slice(0, 2).join("/")} with the processor slowed ${slowDown} times, nothing cached in the browser`,
      value: median(seen),
      unit: "ms",
      quartiles: quartilesOf(seen),
      repeats,
      budget: `at most ${paintLimitMs} ms`,
      met: median(seen) <= paintLimitMs,
      detail: `${board.entries} entries of ${board.tasks} tasks`,
    });
  }
  figures.push(...(await measureViews(session, site.url)));
  figures.push(await measureLog(session, site.url, subject.gradingId, repeats));
  return figures;
}

/** Sorting is a link: what it costs is a page from the server, made once and then kept. No script sorts. */
async function measureViews(session: Session, siteUrl: string): Promise<Figure[]> {
  session.say("views of the board that nobody has asked for yet, then again");
  const made: number[] = [];
  const kept: number[] = [];
  const bytes: number[] = [];
  for (const sort of ["cost", "time", "tokens", "steps", "passed", "official"]) {
    const url = new URL(`/?sort=${sort}`, siteUrl);
    made.push((await timed(() => ask(url))).ms);
    const again = await timed(() => ask(url));
    kept.push(again.ms);
    bytes.push(again.result);
  }
  const kB = median(bytes) / 1000;
  return [
    {
      name: "sorted view",
      what: "bytes of another order of 500 rows, its first 100, as sent",
      value: kB,
      unit: "kB",
      quartiles: null,
      repeats: bytes.length,
      budget: `at most ${viewLimitKb} kB`,
      met: kB <= viewLimitKb,
      detail: `no script sorts or filters: ${median(made).toFixed(0)} ms where the server makes the view, ${median(kept).toFixed(1)} ms where it has it`,
    },
  ];
}

async function measureLog(session: Session, siteUrl: string, gradingId: string, repeats: number): Promise<Figure> {
  session.say("the log of 200 MB: first screen, then screens far down");
  const log = { gradingId, path: logPath };
  const first = await timed(() => ask(new URL(logHref(log), siteUrl)));
  const seen: number[] = [];
  for (let round = 0; round < repeats; round++) {
    const line = 1_000_003 + 100_019 * round;
    seen.push((await timed(() => ask(new URL(logHref({ ...log, line }), siteUrl)))).ms);
  }
  return {
    name: "log of 200 MB",
    what: "the first screen of a log that nobody has opened yet: its lines are indexed, a range is read",
    value: first.ms,
    unit: "ms",
    quartiles: null,
    repeats: 1,
    budget: `at most ${logLimitMs} ms`,
    met: first.ms <= logLimitMs,
    detail: `${(first.result / 1000).toFixed(0)} kB sent; a screen at another line, never asked for before: ${median(seen).toFixed(0)} ms`,
  };
}

/** Bytes of an answer as sent. */
async function ask(url: URL): Promise<number> {
  const { statusCode, body } = await request(url, { headers: { "accept-encoding": "gzip" } });
  const { byteLength } = await body.arrayBuffer();
  if (statusCode !== 200) throw new Error(`${url.href} answered with status ${statusCode}`);
  return byteLength;
}

async function largestPaintMs(browser: Browser, url: URL): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowDown });
    await page.goto(url.href, { waitUntil: "load" });
    return await page.evaluate(
      () =>
        new Promise<number>((settle) => {
          let last = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) last = Math.max(last, entry.startTime);
          }).observe({ type: "largest-contentful-paint", buffered: true });
          // Two frames after everything has loaded nothing larger comes.
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => settle(last), 200)));
        }),
    );
  } finally {
    await context.close();
  }
}

/** Gives one synthetic grading a log of 200 MB, as the server keeps it: a blob by its digest, and a row that names it. */
async function addLog(databaseUrl: string, dataDir: string) {
  const { sql, close } = createDatabase(databaseUrl, { max: 1 });
  try {
    const [row] = await sql<{ gradingId: string; submissionId: string; task: string }[]>`
      select grading.id as "gradingId", attempt.submission_id as "submissionId", task.slug as task
      from grading join attempt on attempt.id = grading.attempt_id join task on task.id = attempt.task_id
      order by grading.id limit 1`;
    if (!row) throw new Error("the synthetic board has no gradings");
    const bytes = makeLog();
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const file = join(dataDir, "blobs", sha256.slice(0, 2), sha256.slice(2));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
    await sql`insert into payload_file (grading_id, path, sha256, bytes)
      values (${row.gradingId}, ${logPath}, ${sha256}, ${bytes.length})`;
    return row;
  } finally {
    await close();
  }
}

function makeLog(): Buffer {
  const log = Buffer.alloc(logBytes);
  let at = 0;
  for (let line = 1; at < logBytes; line++)
    at += log.write(
      `step ${line}: synthetic rank 0, loss ${((line * 7919) % 100_003) / 1000}, all is well\n`,
      at,
      "ascii",
    );
  log[logBytes - 1] = 0x0a;
  return log;
}
