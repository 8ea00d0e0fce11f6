import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "./fixtures";

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

for (const address of [
  "/",
  "/?suite=infradev-mini",
  "/?sort=cost&category=training",
  "/?suite=infradev-mini&view=pareto",
  "/?suite=infradev-mini&view=matrix",
  "/?suite=infradev-mini&tests=official",
  "/?model=gpt&cols=interval,cost,date",
  "/tasks",
  "/tasks?suite=infradev",
  "/tasks?suite=infradev-mini&sort=probes",
  "/tasks/infradev-mini/1.0/router-abort-leak",
  "/failures?entryKind=reference",
  "/failures/clusters?entryKind=reference",
  "/self-tests",
  "/entries/gpt-6-sol",
  "/entries/reference-mutant-1",
  "/conditions",
  "/compare",
  "/compare?a=reference-gold&b=reference-mutant-1",
  "/compare?a=gpt-6-sol&b=glm-5.3",
  "/probes",
  "/tasks?suite=infradev-mini&category=rl",
  "/published",
  "/docs/methodology",
  "/docs/verify",
  "/docs/api",
  "/docs",
  "/docs/metrics/rejected",
  "/docs/task-format",
  "/published/table2",
  "/search?q=router",
  "/account/sign-in",
  "/label/agreement",
]) {
  test(`axe finds nothing on ${address}`, async ({ page }) => {
    await page.goto(address);
    expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
  });
}

test("axe finds nothing on the Pareto view, drawn and read", async ({ page }) => {
  await page.goto("/?view=pareto");
  const chart = page.getByRole("group", { name: /^Resolved, % against Cost/ });
  await chart.getByRole("link").first().focus();
  expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
});

test("axe finds nothing on outcomes, filtered and sorted", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  await page.goto(`/submissions/${mutant.id}/${mutant.attempts[0]?.task}?kind=probe&sort=time`);
  await expect(page.getByRole("table", { name: /^Official tests/ })).toHaveCount(0);
  expect(
    (await new AxeBuilder({ page }).include("section:has(> #outcomes)").withTags(tags).analyze()).violations,
  ).toEqual([]);
});

test("axe finds nothing on a submission, reported or graded", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  for (const id of [site.published.rows[0]?.submissionId, mutant.id]) {
    await page.goto(`/submissions/${id}`);
    expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
  }
});

test("axe finds nothing on a task with failures, nor after its evidence was verified", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  await page.goto(`/submissions/${mutant.id}/${mutant.attempts[0]?.task}`);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("status")).toHaveText(/checks/);
  expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
});

test("axe finds nothing on a failure, nor on its log", async ({ page }) => {
  await page.goto("/failures?entryKind=reference&type=resource");
  await page
    .getByRole("listitem")
    .getByRole("link", { name: /^test_/ })
    .first()
    .click();
  await expect(page.getByRole("heading", { name: "What failed" })).toBeVisible();
  expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
  await page.getByRole("link", { name: "Open the log at this line" }).click();
  await expect(page.getByRole("textbox", { name: "Go to line" })).toBeVisible();
  expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
});

test.describe("not found", () => {
  test.use({ expectedErrors: [/404/] });

  test("axe finds nothing on the page of an unknown address", async ({ page }) => {
    await page.goto("/no-such-page");
    expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
  });
});
