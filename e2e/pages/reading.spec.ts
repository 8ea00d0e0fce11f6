import { expect, test } from "./fixtures";

// What must hold on a phone and without JavaScript alike: everything is there to read, and nothing sticks out.

const widthOverflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

test("the ranking reads, sorts and filters", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Six models, one tie");
  const rows = page.getByRole("table", { name: /Ranking/ }).getByRole("row");
  await expect(rows).toHaveCount(7);
  await expect(rows.nth(1)).toContainText("38.9");
  await page.getByRole("link", { name: "Cost $" }).click();
  await expect(rows.nth(1).getByRole("rowheader")).toContainText("DeepSeek V4 Pro");
  await page.getByRole("navigation", { name: "Category" }).getByRole("link", { name: /RL/ }).click();
  await expect(page).toHaveURL(/category=rl/);
});

test("the Pareto view reads as a sentence and a table", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("navigation", { name: "View" }).getByRole("link", { name: "Pareto" }).click();
  await expect(page.getByRole("figure")).toContainText("on the frontier of resolved against cost");
  await expect(page.getByRole("table", { name: /^Resolved against cost/ }).getByRole("row")).toHaveCount(7);
});

test("a task reads from its verdict to its patch and evidence", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  await page.goto(`/submissions/${mutant.id}`);
  await page
    .getByRole("table", { name: "Tasks with their verdicts" })
    .getByRole("rowheader")
    .getByRole("link")
    .first()
    .click();
  await expect(page.getByRole("table", { name: /^Official tests/ })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Patch" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Download the bundle" })).toBeVisible();
});

test("tasks sort, and one reads from its results to its tests, prompt and interfaces", async ({ page, site }) => {
  await page.goto("/tasks");
  const rows = page.getByRole("table", { name: /^Tasks of/ }).getByRole("row");
  await expect(rows).toHaveCount(site.mini.suite.taskCount + 1);
  await page.getByRole("main").getByRole("link", { name: "Probes", exact: true }).click();
  await expect(page).toHaveURL(/sort=probes/);
  await rows.nth(1).getByRole("rowheader").getByRole("link").click();
  for (const name of ["Results", "Requirements and tests", "Prompts", "Interfaces"])
    await expect(page.getByRole("heading", { name, exact: true })).toBeVisible();
  await expect(page.getByRole("table", { name: /^Official tests/ })).toBeVisible();
});

test("a failure reads from the list of cases to its assertion and its log", async ({ page }) => {
  await page.goto("/failures?entryKind=reference&class=behavioral");
  await page
    .getByRole("listitem")
    .getByRole("link", { name: /^test_/ })
    .first()
    .click();
  for (const name of ["What failed", "Class and type", "Log", "Patch", "Ranks over time", "This test for every entry"])
    await expect(page.getByRole("heading", { name, exact: true })).toBeVisible();
  expect(await page.evaluate(widthOverflow)).toBeLessThanOrEqual(0);
  await page.getByRole("link", { name: "Open the log at this line" }).click();
  await expect(page.getByRole("row", { name: /^Line \d+ / }).first()).toBeVisible();
  expect(await page.evaluate(widthOverflow)).toBeLessThanOrEqual(0);
});

test("the export menu opens, and its CSV holds the rows of the view", async ({ page }) => {
  await page.goto("/?sort=cost");
  const link = page.getByRole("link", { name: "CSV", exact: true });
  await expect(link).toBeHidden();
  await page.getByText("Export", { exact: true }).click();
  await expect(link).toBeVisible();
  const answer = await page.request.get((await link.getAttribute("href")) ?? "");
  const [header = "", ...lines] = (await answer.text()).trimEnd().split("\r\n");
  expect(lines).toHaveLength(6);
  const model = header.split(",").indexOf("model");
  const first = page
    .getByRole("table", { name: /Ranking/ })
    .getByRole("rowheader")
    .first();
  await expect(first).toContainText(lines[0]?.split(",")[model] ?? "no model");
});

test("nothing sticks out of the page", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  for (const address of [
    "/",
    "/?suite=infradev-mini",
    "/?view=pareto",
    "/?suite=infradev-mini&view=matrix",
    "/tasks",
    "/tasks?suite=infradev",
    "/tasks/infradev-mini/1.0/router-abort-leak",
    "/failures?entryKind=reference",
    "/failures/clusters?entryKind=reference",
    "/published",
    "/docs/methodology",
    "/docs/verify",
    "/docs/api",
    "/docs",
    "/docs/bundle-format",
    "/docs/runner",
    "/published/table5",
    "/search?q=router",
    `/submissions/${mutant.id}`,
    `/submissions/${mutant.id}/${mutant.attempts[0]?.task}`,
  ]) {
    await page.goto(address);
    expect(await page.evaluate(widthOverflow), address).toBeLessThanOrEqual(0);
  }
});
