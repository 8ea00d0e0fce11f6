import { failureListSchema, failureOverviewSchema } from "../../lib/contract/failures-api";
import { logLinesAnswerSchema } from "../../lib/contract/log-lines";
import { expect, test } from "./fixtures";

test("from a cell of the taxonomy to the case, the line of its log and the hunk of the patch, one click each", async ({
  page,
  request,
}) => {
  const overview = failureOverviewSchema.parse(
    await (await request.get("/api/v1/failures/overview?entryKind=reference")).json(),
  );
  const structural = overview.total.types.find(({ type }) => type === "execution-api");
  expect(structural?.attempts, "the demo's sets fail by exception somewhere").toBeGreaterThan(0);

  await page.goto("/failures?entryKind=reference");
  const table = page.getByRole("table", { name: /^Attempts with at least one failure of each type/ });
  const row = table.getByRole("row", { name: /Execution/ });
  await expect(row).toContainText("48");
  const cell = row.getByRole("link", { name: /: Execution \/ API$/ });
  await expect(cell).toHaveText(`${structural?.attempts}`);
  await cell.click();

  await expect(page).toHaveURL(/type=execution-api/);
  await expect(page.getByRole("heading", { name: `Cases ${structural?.cases}` })).toBeVisible();
  await page
    .getByRole("listitem")
    .getByRole("link", { name: /^test_/ })
    .first()
    .click();

  await expect(page.getByRole("heading", { name: "What failed" })).toBeVisible();
  const marked = page.getByRole("table", { name: "Lines of the log around the failure" }).locator(".log-marked");
  const said = (await marked.getByRole("cell").textContent()) ?? "";
  expect(said).toContain("Error");
  await marked.getByRole("link").click();

  await expect(page).toHaveURL(/\/logs\/.*\?line=\d+#L\d+$/);
  await expect(page.locator(".log-marked")).toContainText(said);
  await expect(page.locator(".log-marked")).toBeInViewport();
});

test("a traceback through the patch opens the hunk with its line marked", async ({ page, request }) => {
  const list = failureListSchema.parse(
    await (
      await request.get("/api/v1/failures?entryKind=reference&type=execution-api&entry=reference-mutant-4")
    ).json(),
  );
  const failure = list.failures[0];
  expect(failure, "mutant-4 fails by exceptions").toBeDefined();
  await page.goto(`/failures/${failure?.address.grading}/${failure?.address.test}`);
  await expect(page.getByText(/^The traceback passes through \d+ of the patch’s hunks/)).toBeVisible();
  await expect(page.locator(".diff-marked").first()).toBeVisible();
  await page.getByRole("link", { name: "in the whole patch" }).first().click();
  await expect(page).toHaveURL(/\/submissions\/.*#hunk-\d+-\d+$/);
});

test("filters are sent by the form and taken off by their chips", async ({ page }) => {
  await page.goto("/failures?entryKind=reference");
  await page.getByText("Filter", { exact: true }).click();
  await page.getByRole("combobox", { name: "Class", exact: true }).selectOption("behavioral");
  await page.getByRole("combobox", { name: "Tests", exact: true }).selectOption("probe");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page).toHaveURL("/failures?entryKind=reference&class=behavioral&kind=probe");
  const chips = page.getByRole("list", { name: "Filters that are on" });
  await expect(chips.getByRole("listitem")).toHaveCount(3);
  await chips.getByRole("link", { name: /^class: behavioral/ }).click();
  await expect(page).toHaveURL("/failures?entryKind=reference&kind=probe");
});

test("clusters lead to their members", async ({ page }) => {
  await page.goto("/failures/clusters?entryKind=reference");
  const members = page.getByRole("link", { name: /^\d+ cases$/ }).first();
  const count = Number.parseInt((await members.textContent()) ?? "", 10);
  await members.click();
  await expect(page.getByRole("heading", { name: `Cases ${count}` })).toBeVisible();
});

test("a log goes to a line by its form, page by page, and has a twin", async ({ page, site, request }) => {
  const nop = await site.reference("nop");
  const grading = nop.attempts[0]?.grading?.id;
  const path = "ranks/launch-0/rank-0.stdout.log";
  const twin = await request.get(`/api/v1/gradings/${grading}/lines/payload/${path}?from=3&count=2`);
  const { lines, lineCount } = logLinesAnswerSchema.parse(await twin.json());
  expect(lines.map(({ number }) => number)).toEqual([3, 4]);
  await page.goto(`/logs/${grading}/${path}`);
  await page.getByRole("textbox", { name: "Go to line" }).fill("12");
  await page.getByRole("button", { name: "Go" }).click();
  await expect(page.getByRole("row", { name: /^Line 12\b/ })).toHaveClass(/log-marked/);
  await page.getByRole("link", { name: "First page" }).first().click();
  await expect(page.getByRole("row", { name: /^Line 1\b/ })).toBeVisible();
  await page.goto(`/logs/${grading}/${path}?line=999999`);
  await expect(page.getByText(/^There is no line/)).toBeVisible();
  await expect(page.getByRole("row", { name: new RegExp(`^Line ${lineCount}\\b`) })).toBeVisible();
});

for (const address of [
  "/failures/x/1",
  "/failures/00000000-0000-4000-8000-000000000000/1",
  "/failures?suite=no-such-suite",
  "/failures?page=99999",
  "/logs/00000000-0000-4000-8000-000000000000/ranks/launch-0/rank-0.stdout.log",
  "/logs/00000000-0000-4000-8000-000000000000/x?line=5",
]) {
  test(`${address} is a real 404`, async ({ request }) => {
    expect((await request.get(address)).status()).toBe(404);
  });
}
