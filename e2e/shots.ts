// Screenshots of every kind of page, on a phone and on a desk, in both themes, with an index to leaf through:
//   npm run shots [-- --url URL --out DIR --all]
// Without --url it starts the site on the data that `npm run demo` left. A page that answers with another status than
// it should, writes an error to the console, or sticks out of a phone is listed, and the exit code is then 1.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "@playwright/test";
import { Command } from "commander";
import { freePort, startEmbedded } from "../db/embedded";
import { copyBuild, removeBuildCopy, resolveDataDir, startSite, stopPrograms } from "./stack";

/** Views that the sitemap leaves out, since each is one page in another order or form. */
const views = [
  "/?view=pareto",
  "/?view=matrix",
  "/?tests=official",
  "/?sort=cost&category=training",
  "/?suite=infradev-mini&view=matrix",
  "/?suite=infradev-mini&view=pareto",
  "/tasks?suite=infradev",
  "/tasks?sort=discrimination",
  "/compare",
  "/compare?a=gpt-6-sol&b=glm-5.3",
  "/compare?a=reference-gold&b=reference-mutant-1",
  "/probes",
  "/search",
  "/search?q=router",
  "/search?q=nothing+has+these+words",
  "/account",
];

/** Addresses of pages that say that there is nothing there. */
const missing = [
  "/no-such-page",
  "/tasks/infradev-mini/1.0/no-such-task",
  "/entries/no-such-entry",
  "/submissions/00000000-0000-4000-8000-000000000000",
];

const widths = [360, 1280] as const;
const themes = ["light", "dark"] as const;
/** Pages of one kind that are looked at, unless all are. */
const mostOfKind = 2;
/** A browser draws no taller picture in one piece. */
const mostHeight = 12_000;

/** What kind of page an address leads to: what only names one of many is left out. */
const kindOf = (address: string) =>
  address
    .replace(/^\/tasks\/[^/?]+\/[^/?]+\/[^/?]+/, "/tasks/*")
    .replace(/^\/(submissions|entries|failures|logs|published|docs\/metrics)\/[^/?]+/, "/$1/*")
    .replace(/^\/(submissions|failures)\/\*\/[^/?]+/, "/$1/*/*");

async function readAddresses(site: string, all: boolean): Promise<string[]> {
  const answer = await fetch(`${site}/sitemap.xml`);
  if (!answer.ok) throw new Error(`${site}/sitemap.xml answers with status ${answer.status}`);
  const listed = [...(await answer.text()).matchAll(/<loc>(.*?)<\/loc>/g)].map(([, location = ""]) => {
    const { pathname, search } = new URL(location.replaceAll("&amp;", "&"));
    return `${pathname}${search}`;
  });
  if (all) return listed;
  const counts = new Map<string, number>();
  return listed.filter((address) => {
    const kind = kindOf(address);
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return count <= mostOfKind || !kind.includes("*");
  });
}

const fileName = (address: string, width: number, theme: string) =>
  `${
    address
      .replaceAll(/[^a-z0-9]+/gi, "-")
      .replaceAll(/^-|-$/g, "")
      .slice(0, 90) || "leaderboard"
  }.${width}.${theme}.png`;

/** Takes one picture; what is wrong with the page, in words. */
async function shoot(page: Page, site: string, address: string, file: string): Promise<string[]> {
  const faults: string[] = [];
  const expected = missing.includes(address) ? 404 : 200;
  const onConsole = (message: { type(): string; text(): string }) => {
    if (message.type() === "error" && !(expected === 404 && /404/.test(message.text()))) faults.push(message.text());
  };
  const onError = (error: Error) => faults.push(String(error));
  page.on("console", onConsole);
  page.on("pageerror", onError);
  try {
    const answer = await page.goto(`${site}${address}`, { waitUntil: "load" });
    if (answer?.status() !== expected) faults.push(`status ${answer?.status()}, expected ${expected}`);
    await page.evaluate(() => document.fonts.ready);
    await page.waitForTimeout(300);
    const size = await page.evaluate(() => ({
      over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      height: document.documentElement.scrollHeight,
    }));
    if (size.over > 0) faults.push(`sticks out by ${size.over} px`);
    const width = page.viewportSize()?.width ?? 0;
    await page.screenshot({
      path: file,
      fullPage: true,
      clip: { x: 0, y: 0, width, height: Math.min(size.height, mostHeight) },
    });
  } catch (error) {
    faults.push(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error));
  } finally {
    page.off("console", onConsole);
    page.off("pageerror", onError);
  }
  return faults;
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

function indexOf(addresses: readonly string[], faults: ReadonlyMap<string, string[]>): string {
  const sections = addresses.map((address) => {
    const pictures = themes.flatMap((theme) =>
      widths.map((width) => {
        const name = fileName(address, width, theme);
        return `<a href="${name}"><img loading="lazy" src="${name}" alt="${escaped(address)}, ${width} px, ${theme}"></a>`;
      }),
    );
    const wrong = (faults.get(address) ?? []).map((fault) => `<li>${escaped(fault)}</li>`).join("");
    return `<section><h2>${escaped(address)}</h2><ul>${wrong}</ul><div>${pictures.join("")}</div></section>`;
  });
  return `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Pages</title>
<style>body{font:14px system-ui;margin:24px}h2{font:600 14px ui-monospace,monospace}ul{color:#9c3a1b}div{display:flex;gap:12px;align-items:flex-start;overflow-x:auto}img{height:420px;object-fit:cover;object-position:top;border:1px solid #ccc}</style>
<h1>${addresses.length} pages, ${faults.size} with faults</h1>${sections.join("\n")}</html>\n`;
}

async function take(site: string, out: string, all: boolean): Promise<number> {
  const addresses = [...new Set([...(await readAddresses(site, all)), ...views, ...missing])];
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const faults = new Map<string, string[]>();
  const browser = await chromium.launch({
    executablePath: process.env["INFRADEV_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    for (const theme of themes)
      for (const width of widths) {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
        const page = await context.newPage();
        for (const address of addresses) {
          const found = await shoot(page, site, address, join(out, fileName(address, width, theme)));
          const named = found.map((fault) => `${width} px, ${theme}: ${fault}`);
          if (named.length > 0) faults.set(address, [...(faults.get(address) ?? []), ...named]);
        }
        await context.close();
        console.log(`${addresses.length} pages at ${width} px, ${theme}`);
      }
  } finally {
    await browser.close();
  }
  writeFileSync(join(out, "index.html"), indexOf(addresses, faults));
  for (const [address, found] of faults) console.log(`FAIL ${address}\n     ${found.join("\n     ")}`);
  console.log(`${join(out, "index.html")}: ${addresses.length} pages, ${faults.size} with faults`);
  return faults.size;
}

/** The site on the demo's data, until `use` is done; null where there is no such data. */
async function withDemoSite(use: (site: string) => Promise<number>): Promise<number | null> {
  const dataDir = resolveDataDir(undefined);
  if (!existsSync(join(dataDir, "postgres"))) {
    console.error(
      `there is no demo's data [shots.no-site]\n  where:  ${dataDir}\n  rule:   pages are taken from a running site or from what the demo left\n  remedy: run 'npm run demo -- --exit' first, or name a site with --url`,
    );
    return null;
  }
  const database = await startEmbedded({ dataDir });
  const distDir = await copyBuild();
  try {
    const site = await startSite({ databaseUrl: database.url, dataDir, port: await freePort(), distDir });
    return await use(site.url);
  } finally {
    await stopPrograms();
    removeBuildCopy(distDir);
    await database.stop();
  }
}

const program = new Command("shots")
  .description("Screenshots of every kind of page at 360 and 1280 px in both themes.")
  .option("--url <url>", "a running site; by default one on the demo's data is started")
  .option("--out <dir>", "where the pictures go", join(".data", "shots"))
  .option("--all", "every address of the sitemap, not some of each kind")
  .parse();
const { url, out, all } = program.opts<{ url?: string; out: string; all?: boolean }>();
const run = (site: string) => take(site, out, all ?? false);
const failed = url ? await run(url.replace(/\/+$/, "")) : await withDemoSite(run);
process.exitCode = failed === null ? 2 : failed === 0 ? 0 : 1;
