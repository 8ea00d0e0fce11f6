import { expect, test } from "./fixtures";

test("the headline says what the published rows show: one tie", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "Six models, one tie: no pair can be told apart on 36 tasks.",
  );
  await expect(page.getByText("telling two apart takes ten tasks won and none lost")).toBeVisible();
});

test("every published row has rank set 1–6, a bar with its interval, counts per category, and its provenance", async ({
  page,
}) => {
  await page.goto("/");
  const rows = page.getByRole("table", { name: /Ranking of six entries/ }).getByRole("row");
  await expect(rows).toHaveCount(7);
  const first = rows.nth(1);
  await expect(first.getByRole("rowheader")).toContainText("GPT-6 Sol");
  await expect(first.getByRole("cell").first()).toHaveText("1–6");
  await expect(
    first.getByRole("img", { name: /^38\.9.% \(14 of 36\), 95 % interval 24\.8 to 55\.1.%$/ }),
  ).toBeVisible();
  await expect(
    first.getByRole("img", { name: "Counts only: Training 10 of 19, Inference 1 of 10, RL 3 of 7" }),
  ).toBeVisible();
  await expect(first).toContainText("reported");
  await expect(page.getByRole("table").getByText("1–6", { exact: true })).toHaveCount(6);
});

test("a sort link orders rows, says so, and turns around", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Cost $" }).click();
  await expect(page).toHaveURL(/\?sort=cost#ranking$/);
  const rows = page.getByRole("table", { name: /Ranking/ }).getByRole("row");
  await expect(page.getByRole("columnheader", { name: /^Cost/ })).toHaveAttribute("aria-sort", "ascending");
  await expect(rows.nth(1).getByRole("rowheader")).toContainText("DeepSeek V4 Pro");
  await page.getByRole("link", { name: "Cost $" }).click();
  await expect(page).toHaveURL(/sort=cost&dir=desc/);
  await expect(rows.nth(1).getByRole("rowheader")).toContainText("GPT-5.6 Sol");
  await expect(rows.nth(1).getByRole("cell").first()).toHaveText("1–6");
});

test("a category shows its own shares and leaves rank sets alone", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("navigation", { name: "Category" }).getByRole("link", { name: /RL/ }).click();
  await expect(page).toHaveURL("/?category=rl");
  const first = page
    .getByRole("table", { name: /Ranking/ })
    .getByRole("row")
    .nth(1);
  await expect(first.getByRole("rowheader")).toContainText("HY4 preview");
  await expect(first.getByRole("img", { name: /\(4 of 7\)/ })).toBeVisible();
  await expect(first.getByRole("cell").first()).toHaveText("1–6");
  await expect(page.getByText("Rank sets stay those of the whole board.")).toBeVisible();
});

test("a header explains its metric on focus", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Passed %" }).focus();
  await expect(page.getByRole("tooltip", { name: /Required tests that pass on a task/ })).toBeVisible();
});

test("a footnote is one click from its row", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Note a" }).click();
  await expect(page).toHaveURL(/#note-/);
  await expect(page.getByText("Measured through the Codex coding plan")).toBeInViewport();
});

test("the bundled suite ranks nobody and shows its reference sets apart", async ({ page, site }) => {
  await page.goto("/");
  await page.getByRole("navigation", { name: "Suite" }).getByRole("link", { name: /mini/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("No entry is ranked on");
  const references = page.getByRole("table", { name: "Reference patch sets" });
  await expect(references.getByRole("row")).toHaveCount(site.mini.references.length + 1);
  const gold = references.getByRole("row", { name: /gold/ });
  await expect(gold).toContainText(`${site.mini.suite.taskCount}/${site.mini.suite.taskCount}`);
  await expect(gold).toContainText("verified");
  await expect(references.getByRole("row", { name: /nop/ })).toContainText(`0/${site.mini.suite.taskCount}`);
});

test("the condition stands in the address, and an empty board says that it is empty", async ({ page }) => {
  await page.goto("/?condition=pr-description");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("No entry is ranked on");
  await expect(page.getByText("No model has been graded on this board.")).toBeVisible();
});

test("the theme follows the system, is switched by hand, and stays", async ({ page }) => {
  await page.goto("/");
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByLabel("Theme").selectOption("dark");
  expect(await background()).not.toBe(light);
  await page.goto("/docs/methodology");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(page.getByLabel("Theme")).toHaveValue("dark");
  await page.getByLabel("Theme").selectOption("system");
  expect(await background()).toBe(light);
});

test("the keyboard skips to the content", async ({ page }) => {
  await page.goto("/");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
});

test("nothing moves while the page loads", async ({ page }) => {
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto("/");
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const total = await page.evaluate(() =>
    (window as unknown as { shifts: number[] }).shifts.reduce((sum, shift) => sum + shift, 0),
  );
  expect(total).toBeLessThan(0.02);
});
