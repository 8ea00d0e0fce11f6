import type { Page } from "@playwright/test";
import type { SubmissionDetail } from "../../lib/contract/api";
import { expect, test } from "./fixtures";

/** The task of a submission with this verdict, as its address. */
function taskOf(submission: SubmissionDetail, verdict: SubmissionDetail["attempts"][number]["verdict"]): string {
  const attempt = submission.attempts.find((one) => one.verdict === verdict);
  expect(attempt, `a task that is ${verdict}`).toBeDefined();
  return `/submissions/${submission.id}/${attempt?.task}`;
}

const filters = (page: Page) => page.getByRole("search", { name: "Tests" });
const testsShown = (page: Page) => page.getByRole("table", { name: /^(Official tests|Probes)/ }).getByRole("rowheader");

test("failures come before the outcomes of tests that pass", async ({ page, site }) => {
  await page.goto(taskOf(await site.reference("mutant-1"), "probe-rejected"));
  const headings = await page.getByRole("heading", { level: 2 }).allTextContents();
  expect(headings[0]).toMatch(/^Failures/);
  expect(headings[1]).toBe("Outcomes by test and rank");
});

test("filters narrow the tests, say what they hide, and stand in the address", async ({ page, site }) => {
  await page.goto(taskOf(await site.reference("mutant-1"), "probe-rejected"));
  const all = await testsShown(page).count();
  await expect(filters(page).getByText(`All ${all} tests are shown.`)).toBeVisible();

  await filters(page).getByLabel("Kind").selectOption("probe");
  await expect(page.getByRole("table", { name: /^Official tests/ })).toHaveCount(0);
  await expect(page).toHaveURL(/\?kind=probe$/);

  await filters(page).getByLabel("Outcome").selectOption("failed");
  const failed = await testsShown(page).count();
  expect(failed).toBeGreaterThan(0);
  expect(failed).toBeLessThan(all);
  await expect(page).toHaveURL(/\?kind=probe&status=failed$/);
  await expect(filters(page).getByText(`${failed} of ${all} tests`)).toContainText(`the filters hide ${all - failed}.`);
  const captionAndRows = page.getByRole("table", { name: /^Probes \d+ of \d+ required pass/ });
  await expect(captionAndRows.getByText("passed", { exact: true })).toHaveCount(0);

  await page.reload();
  await expect(testsShown(page)).toHaveCount(failed);
  await expect(filters(page).getByLabel("Outcome")).toHaveValue("failed");

  await filters(page).getByRole("button", { name: "Clear filters" }).click();
  await expect(testsShown(page)).toHaveCount(all);
  await expect(filters(page).getByLabel("Text")).toBeFocused();
  expect(new URL(page.url()).search).toBe("");
});

test("text and property filter together, and hide everything where nothing matches", async ({ page, site }) => {
  await page.goto(taskOf(await site.reference("gold"), "resolved"));
  const all = await testsShown(page).count();
  const property = await filters(page).getByLabel("Checks").locator("option").nth(1).getAttribute("value");
  await filters(page)
    .getByLabel("Checks")
    .selectOption(property ?? "");
  await expect(filters(page).getByText("the filters hide")).toBeVisible();
  const some = await testsShown(page).count();
  expect(some).toBeGreaterThan(0);
  const name = (await testsShown(page).first().getByRole("code").textContent()) ?? "";
  await filters(page).getByLabel("Text").fill(name.toUpperCase());
  await expect(testsShown(page).first()).toContainText(name);
  await expect(page).toHaveURL(new RegExp(`\\?property=${property}&text=`));
  await filters(page).getByLabel("Text").fill("no test is called this");
  await expect(testsShown(page)).toHaveCount(0);
  await expect(filters(page).getByText(`0 of ${all} tests are shown; the filters hide ${all}.`)).toBeVisible();
});

test("a header sorts up, down and back to the first order", async ({ page, site }) => {
  await page.goto(taskOf(await site.reference("gold"), "resolved"));
  const official = page.getByRole("table", { name: /^Official tests/ });
  const names = () => official.getByRole("rowheader").getByRole("code").allTextContents();
  const first = await names();
  const header = official.getByRole("columnheader", { name: "Test" });
  await page.mouse.move(100, 100);
  await header.getByRole("button").click();
  await expect(header).toHaveAttribute("aria-sort", "ascending");
  const ascending = await names();
  expect(ascending).toHaveLength(first.length);
  await header.getByRole("button").click();
  await expect(header).toHaveAttribute("aria-sort", "descending");
  await expect(page).toHaveURL(/\?sort=test&dir=desc$/);
  expect(await names()).toEqual(ascending.toReversed());
  await header.getByRole("button").click();
  await expect(header).not.toHaveAttribute("aria-sort");
  expect(await names()).toEqual(first);
  expect(new URL(page.url()).search).toBe("");
});

test("a shared address opens filtered and sorted, and its failures keep their links", async ({ page, site }) => {
  const address = taskOf(await site.reference("mutant-1"), "probe-rejected");
  await page.goto(`${address}?kind=probe&status=failed&sort=time&dir=desc`);
  const probes = page.getByRole("table", { name: /^Probes/ });
  await expect(probes.getByRole("columnheader", { name: "Time" })).toHaveAttribute("aria-sort", "descending");
  await expect(page.getByRole("table", { name: /^Official tests/ })).toHaveCount(0);
  await probes.getByRole("rowheader").getByRole("link").first().click();
  await expect(page).toHaveURL(/\?kind=probe&status=failed&sort=time&dir=desc#failure-\d+$/);
  await page.goBack();
  await expect(filters(page).getByLabel("Kind")).toHaveValue("probe");
});

test("the page holds every test once, and moves nothing when its filters come to life", async ({ page, site }) => {
  const address = taskOf(await site.reference("gold"), "resolved");
  const html = await (await page.request.get(address)).text();
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(address);
  const header = page.getByRole("table", { name: /^Official tests/ }).getByRole("columnheader", { name: "Test" });
  await page.mouse.move(100, 100);
  await expect(header.getByRole("button")).toBeVisible();
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const total = await page.evaluate(() =>
    (window as unknown as { shifts: number[] }).shifts.reduce((sum, shift) => sum + shift, 0),
  );
  expect(total).toBeLessThan(0.02);
  expect(html.match(/<th scope="row" class="test-name">/g)).toHaveLength(await testsShown(page).count());
});

test("what checks schemas loads with the Verify click, not before", async ({ page, site }) => {
  const scripts: Promise<string>[] = [];
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") scripts.push(response.text());
  });
  const withSchemas = async () => (await Promise.all(scripts)).filter((text) => text.includes("invalid_union")).length;
  await page.goto(taskOf(await site.reference("gold"), "resolved"), { waitUntil: "networkidle" });
  expect(await withSchemas()).toBe(0);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("status")).toHaveText(/checks hold/);
  expect(await withSchemas()).toBeGreaterThan(0);
});

test("a press while the framework takes over, and stops what it cannot handle yet, is not lost", async ({
  page,
  site,
}) => {
  await page.addInitScript(() => {
    const stop = (event: Event) => {
      if (document.querySelector("button[data-later]")) event.stopPropagation();
    };
    document.addEventListener("click", stop, { capture: true });
  });
  let goOn = () => {};
  const pressed = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await page.route("**/_next/static/chunks/*.js", async (route) => {
    await pressed;
    await route.continue();
  });
  let checked = 0;
  page.on("request", (request) => {
    if (request.resourceType() === "fetch" && new URL(request.url()).pathname.endsWith("/evidence")) checked += 1;
  });
  await page.goto(taskOf(await site.reference("gold"), "resolved"));
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByRole("button", { name: "Verify" }).click();
  goOn();
  await expect(page.getByRole("status")).toHaveText(/checks hold/);
  expect(checked).toBe(1);
});
