import { conditionsAnswerSchema } from "../../lib/contract/conditions-api";
import { entryDetailSchema } from "../../lib/contract/entry-api";
import { expect, test } from "./fixtures";

test("a submission leads to its entry, which shows where it stands, how it was made and what it fails by", async ({
  page,
  site,
}) => {
  const mutant = await site.reference("mutant-1");
  await page.goto(`/submissions/${mutant.id}`);
  await page.getByRole("link", { name: mutant.candidate.model }).first().click();
  await expect(page).toHaveURL(`/entries/${mutant.entrySlug}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(mutant.candidate.model);
  await expect(page.getByText("reference: unranked")).toBeVisible();
  await expect(page.getByText(/^bwrap, sandboxed|^process, no sandbox/)).toBeVisible();
  const tasks = page.getByRole("table", { name: /^Tasks of InfraDev mini/ });
  await expect(tasks.getByRole("row")).toHaveCount(site.mini.suite.taskCount + 1);
  const failing = page.getByRole("table", { name: "Failing attempts by type of failure" });
  await expect(failing.getByRole("row")).not.toHaveCount(1);
  await tasks.getByRole("link", { name: "official tests pass, probes reject" }).first().click();
  await expect(page).toHaveURL(new RegExp(`/submissions/${mutant.id}/`));
});

test("a type of failure leads to the entry's cases of it", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  await page.goto(`/entries/${mutant.entrySlug}`);
  const failing = page.getByRole("table", { name: "Failing attempts by type of failure" });
  await failing.getByRole("link").first().click();
  await expect(page).toHaveURL(new RegExp(`/failures\\?.*entry=${mutant.entrySlug}`));
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
});

test("a reported entry shows what was published with its source, and says what was not", async ({ page, site }) => {
  const [row] = site.published.rows;
  await page.goto(`/entries/${row?.entry.slug}`);
  await expect(page.getByText(/^Rank 1–6 of 6 on/)).toBeVisible();
  await expect(page.getByText(/per-task outcomes, patches and trajectories/)).toBeVisible();
  await expect(page.getByRole("link", { name: /Can Coding Agents Develop AI Infrastructure/ })).toBeVisible();
  await page.getByRole("link", { name: "Table 4" }).click();
  await expect(page).toHaveURL("/published#table4");
});

test("the page's figures are its twin's", async ({ page, request, site }) => {
  const gold = await site.reference("gold");
  const entry = entryDetailSchema.parse(await (await request.get(`/api/v1/entries/${gold.entrySlug}`)).json());
  const mini = entry.standings.find(({ suite }) => suite.slug === "infradev-mini");
  const csv = await (await request.get(`/api/v1/entries/${gold.entrySlug}/tasks.csv`)).text();
  expect(csv.trim().split("\r\n").length).toBeGreaterThan(mini?.tasks?.length ?? 0);
  await page.goto(`/entries/${gold.entrySlug}`);
  const section = page.getByRole("region", { name: /^InfraDev mini/ });
  for (const task of mini?.tasks ?? []) {
    const [attempt] = task.attempts;
    const row = section.getByRole("row").filter({ has: page.getByRole("link", { name: task.title, exact: true }) });
    await expect(row).toContainText(`${attempt?.requiredPassed}/${attempt?.requiredTotal}`);
  }
});

test("conditions without a pair say what would fill them, and show what was published apart", async ({
  page,
  request,
}) => {
  const { suites, published } = conditionsAnswerSchema.parse(await (await request.get("/api/v1/conditions")).json());
  expect(suites).toEqual([]);
  await page.goto("/conditions");
  await expect(page.getByText(/A pair appears here when two published submissions/)).toBeVisible();
  const section = page.getByRole("region", { name: "As published" });
  for (const { statement, printed, unit } of published)
    await expect(section.locator("div").filter({ hasText: statement }).last()).toContainText(`${printed} ${unit}`);
});

test.describe("an entry that is not there", () => {
  test.use({ expectedErrors: [/404/] });

  test("is a real 404", async ({ page }) => {
    const answer = await page.goto("/entries/no-such-entry");
    expect(answer?.status()).toBe(404);
  });
});
