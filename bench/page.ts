import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { request } from "undici";
import { freePort } from "../db/embedded";
import { seedDatabase } from "../db/seed/seed";
import { createTestDatabase, startTestServer } from "../db/testing";
import { buildSite, copyBuild, removeBuildCopy, repositoryRoot, startSite } from "../e2e/stack";
import { type Figure, interleave, median, quartilesOf, ratiosOf } from "./figure";
import { load } from "./load";
import type { Session } from "./session";
import { fillSyntheticBoard } from "./synthetic-board";

const size = { entries: 100, tasks: 36, seed: 20_250_101 };
const htmlLimit = 150;
const scriptLimit = 200;
const throughputLimit = 0.6;
const twinPath = "/_next/static/bench/page.html";
const warmups = 2;
const bounds = { connections: 8, requests: 400, maxMs: 6000 };

/** `/` of the production site with the largest board that one page shows: sizes as sent, and requests answered. */
export async function measurePage(session: Session, { repeats }: { repeats: number }): Promise<Figure[]> {
  const { site, distDir } = await prepareSite(session, size, async (folder) => {
    // Static files are listed when the site starts and read when they are asked for: the page's bytes come later.
    await mkdir(dirname(twinOf(folder)), { recursive: true });
    await writeFile(twinOf(folder), "");
  });
  const home = new URL("/", site.url);
  const page = await waitForBoard(home);
  await writeFile(twinOf(distDir), page.text);
  const twin = new URL(twinPath, site.url);
  const scripts = await fetchScripts(home, page.text);
  const scriptBytes = scripts.reduce((sum, script) => sum + script.bytes, 0);
  if (scripts.length === 0) throw new Error("the page names no script");

  session.say(`asking for / and for a static file of the same bytes, ${repeats} times each`);
  const rates = await interleave(
    {
      page: async () => (await load(home, bounds)).rate,
      twin: async () => (await load(twin, bounds)).rate,
    },
    { repeats, warmups },
  );
  const ratios = ratiosOf(rates.page, rates.twin);
  const kB = (bytes: number) => bytes / 1000;
  const once = { quartiles: null, repeats: 1 } as const;
  return [
    {
      name: "page html",
      what: `/ as sent, data included, ${size.entries} rows of ${size.tasks} tasks`,
      value: kB(page.bytes),
      unit: "kB",
      ...once,
      budget: `at most ${htmlLimit} kB`,
      met: kB(page.bytes) <= htmlLimit,
      detail: `${kB(Buffer.byteLength(page.text)).toFixed(0)} kB before gzip`,
    },
    {
      name: "page script",
      what: "JavaScript that / loads before any interaction, as sent",
      value: kB(scriptBytes),
      unit: "kB",
      ...once,
      budget: `at most ${scriptLimit} kB`,
      met: kB(scriptBytes) <= scriptLimit,
      detail: `${scripts.length} files`,
    },
    {
      name: "page throughput",
      what: "requests of / answered per second, against a static file of the same bytes on the same server",
      value: median(ratios),
      unit: "x",
      quartiles: quartilesOf(ratios),
      repeats,
      budget: `at least ${throughputLimit} x`,
      met: median(ratios) >= throughputLimit,
      detail: `${median(rates.page).toFixed(0)}/s against ${median(rates.twin).toFixed(0)}/s`,
    },
  ];
}

const twinOf = (distDir: string) => join(repositoryRoot, distDir, "static", "bench", "page.html");

/**
 * The built site on a throw-away database with the published data and a synthetic board. `beforeStart` gets the folder of
 * the site's own copy of the build.
 */
export async function prepareSite(
  session: Session,
  board: { entries: number; tasks: number; seed: number },
  beforeStart: (distDir: string) => Promise<void> = async () => {},
) {
  session.say("starting Postgres with the published data");
  const server = await startTestServer(join(session.dir, "database"));
  session.defer(() => server.stop());
  const database = await createTestDatabase(server.url);
  await database.close();
  await seedDatabase(database.url);
  const dataDir = join(session.dir, "data");
  await mkdir(join(dataDir, "logs"), { recursive: true });
  session.say("building the site (skipped when nothing changed)");
  await buildSite({ databaseUrl: database.url, dataDir });
  // After the build, as in life; a build renders submissions with their patches, which these have not.
  session.say("filling the synthetic board");
  await fillSyntheticBoard(database.url, board);
  // The site writes pages that it renders again into its build, and made-up rows have no place in the real one.
  const distDir = await copyBuild();
  session.defer(async () => removeBuildCopy(distDir));
  await beforeStart(distDir);
  const site = await startSite({ databaseUrl: database.url, dataDir, port: await freePort(), distDir });
  session.defer(() => site.stop());
  return { site, distDir, dataDir, databaseUrl: database.url };
}

/** What an address sends to a browser that takes gzip, and how long that is. */
async function fetchGzipped(url: URL): Promise<{ bytes: number; text: string }> {
  const { statusCode, headers, body } = await request(url, { headers: { "accept-encoding": "gzip" } });
  const sent = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`${url.href} answered with status ${statusCode}`);
  const text = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
  return { bytes: sent.length, text: text.toString("utf8") };
}

/** Pages from the build are replaced a moment after the site has started; the page counts once it holds every row. */
async function waitForBoard(home: URL): Promise<{ bytes: number; text: string }> {
  const last = `Synthetic model ${String(size.entries).padStart(3, "0")}`;
  for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 250) {
    const page = await fetchGzipped(home);
    if (page.text.includes(last)) return page;
    await sleep(250);
  }
  throw new Error(`/ did not show '${last}' within 60 s`);
}

/** Every script that the page's HTML asks for: sources, and preloads of scripts. */
async function fetchScripts(home: URL, html: string): Promise<{ bytes: number }[]> {
  const sources = [...html.matchAll(/<(?:script|link)\b[^>]*>/g)].flatMap(([tag]) => {
    const source = /\b(?:src|href)="([^"]+)"/.exec(tag)?.[1];
    const wanted = tag.startsWith("<script") || /\bas="script"|\brel="modulepreload"/.test(tag);
    // What browsers without modules load is no part of what others do.
    return source && wanted && !/\bnomodule\b/i.test(tag) ? [source.replaceAll("&amp;", "&")] : [];
  });
  const scripts = [];
  for (const source of new Set(sources)) {
    scripts.push({ bytes: (await fetchGzipped(new URL(source, home))).bytes });
  }
  return scripts;
}
