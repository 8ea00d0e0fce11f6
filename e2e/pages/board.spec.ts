import { expect, test } from "./fixtures";

test("filters are a form, stand in the address without what is empty, and are taken away one by one", async ({
  page,
}) => {
  await page.goto("/?sort=cost");
  await page.getByText("Filter", { exact: true }).click();
  await page.getByLabel("Model contains").fill("GPT");
  await page.getByRole("button", { name: "Apply" }).first().click();
  await expect(page).toHaveURL("/?sort=cost&model=GPT");
  const rows = page.getByRole("table", { name: /^Ranking of two entries/ }).getByRole("row");
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1).getByRole("cell").first()).toHaveText("1–6");
  await expect(page.getByText("4 of 6 rows hidden.")).toBeVisible();
  await page.getByRole("link", { name: "Remove the filter Model contains: GPT" }).click();
  await expect(page).toHaveURL("/?sort=cost");
});

test("a filter that no row meets leaves an empty table, not an error", async ({ page }) => {
  await page.goto("/?model=no+such+model&tier=verified");
  await expect(page.getByText("No row of this board has what the filters ask for.")).toBeVisible();
  await page.getByRole("link", { name: "Show every row" }).click();
  await expect(page).toHaveURL("/");
});

test("columns are chosen by a form, and the export holds the same ones", async ({ page }) => {
  await page.goto("/");
  const table = page.getByRole("table", { name: /^Ranking/ });
  await expect(table.getByRole("columnheader", { name: /^Tokens/ })).toBeVisible();
  await page.getByText("Columns", { exact: true }).click();
  for (const name of ["tokens", "evidence"]) await page.getByRole("checkbox", { name, exact: true }).uncheck();
  await page.getByRole("checkbox", { name: "date", exact: true }).check();
  await page.getByRole("button", { name: "Apply" }).last().click();
  await expect(page).toHaveURL(
    /^[^?]*\/\?cols=interval,training,inference,rl,tasks,rejected,passed,time,cost,steps,date$/,
  );
  await expect(table.getByRole("columnheader", { name: /^Tokens|^Evidence/ })).toHaveCount(0);
  await expect(table.getByRole("columnheader", { name: /^Date/ })).toBeVisible();
  await page.getByText("Export", { exact: true }).click();
  const href = await page.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
  const [header = ""] = (await (await page.request.get(href ?? "")).text()).split("\r\n");
  expect(header).toContain(",cost_usd,");
  expect(header).not.toContain("tokens_m");
});

test("official tests alone let every mutant pass, and the probes take it back", async ({ page, site }) => {
  await page.goto("/?suite=infradev-mini");
  await page.getByRole("navigation", { name: "Ranked by" }).getByRole("link", { name: "official tests alone" }).click();
  await expect(page).toHaveURL("/?suite=infradev-mini&tests=official");
  const mutant = page.getByRole("table", { name: "Reference patch sets" }).getByRole("row", { name: /mutant-1/ });
  const { taskCount } = site.mini.suite;
  await expect(mutant).toContainText(`${taskCount}/${taskCount}`);
  await expect(mutant).toContainText("\u2212100.0");
  await page.goto("/?tests=official");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(
    "states what it resolves by official tests alone",
  );
  await expect(page.getByText(/^Six rows do not state what they resolve/)).toBeVisible();
});

test("the matrix is walked with the keys, names what it shows, and opens the attempt", async ({ page, site }) => {
  await page.goto("/?suite=infradev-mini");
  await page.getByRole("navigation", { name: "View" }).getByRole("link", { name: "Matrix" }).click();
  await expect(page).toHaveURL("/?suite=infradev-mini&view=matrix");
  const grid = page.getByRole("grid");
  const { references, suite } = site.mini;
  await expect(grid.getByRole("link", { name: /resolved|probes reject|fails official/ })).toHaveCount(
    references.length * suite.taskCount,
  );
  const first = grid.locator("tbody td a").first();
  await first.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await expect(page.getByText(/^reference: .* · .* · /)).toBeVisible();
  await page.keyboard.press("Home");
  await expect(grid.getByRole("link", { name: /^reference:/ }).nth(1)).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(grid.locator("a[tabindex='0']")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(
    new RegExp(`/submissions/[0-9a-f-]{36}/(${suite.tasks.map(({ slug }) => slug).join("|")})$`),
  );
});

test("a strip's cells say their task, and lead to its attempt", async ({ page, site }) => {
  await page.goto("/?suite=infradev-mini");
  const gold = page.getByRole("row", { name: /gold/ });
  const strip = gold.getByRole("link", { name: /Training: 2 resolved/ });
  const submission = (await strip.getAttribute("href")) ?? "";
  await strip.focus();
  await page.keyboard.press("ArrowRight");
  const [first] = site.mini.suite.tasks.filter(({ category }) => category === "training");
  await expect(page.getByRole("status").filter({ hasText: `${first?.title}: resolved` })).toBeVisible();
  await expect(strip).toHaveAttribute("href", `${submission}/${first?.slug}`);
  await page.keyboard.press("Escape");
  await expect(strip).toHaveAttribute("href", submission);
  await strip.hover({ position: { x: 4, y: 10 } });
  await strip.click({ position: { x: 4, y: 10 } });
  await expect(page).toHaveURL(`${submission}/${first?.slug}`);
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });

  test("the matrix is a table of links, and forms filter", async ({ page }) => {
    await page.goto("/?suite=infradev-mini&view=matrix");
    await expect(page.getByRole("table", { name: /by tasks/ })).toBeVisible();
    await page.locator(".matrix tbody td a").first().click();
    await expect(page).toHaveURL(/\/submissions\/[0-9a-f-]{36}\/[a-z-]+$/);
    await page.goto("/");
    await page.getByText("Filter", { exact: true }).click();
    await page.getByLabel("Model contains").fill("kimi");
    await page.getByRole("button", { name: "Apply" }).first().click();
    await expect(page).toHaveURL("/?model=kimi");
  });
});

test("a page that a board has not is none", async ({ request }) => {
  expect((await request.get("/?page=2")).status()).toBe(404);
  expect((await request.get("/?page=0")).status()).toBe(200);
});
