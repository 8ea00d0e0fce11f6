import { expect, test } from "./fixtures";

test("the published figures stand as printed, tables 1 to 7", async ({ page }) => {
  await page.goto("/published");
  for (const number of [1, 2, 3, 4, 5, 6, 7]) {
    await expect(page.getByRole("heading", { name: new RegExp(`^Table ${number}\\.`) })).toBeVisible();
  }
  const overall = page.getByRole("table", { name: /^Table 2/ });
  await expect(overall.getByRole("row", { name: /HY4 preview/ })).toContainText("36.1");
  await expect(page.getByText("Absent here, because the copy lacks it").first()).toBeVisible();
  await expect(page.getByText("52 to 57 %")).toBeVisible();
});

test("the methodology prints the constants that the site computes with", async ({ page }) => {
  await page.goto("/docs/methodology");
  const constants = page.getByRole("table", { name: "Constants of the statistics" });
  await expect(constants.getByRole("row", { name: /Normal quantile/ })).toContainText("1.959964");
  await expect(
    page.getByRole("table", { name: /What a difference needs/ }).getByRole("row", { name: /^6 15/ }),
  ).toHaveText(/10$/);
  await expect(page.getByRole("heading", { name: "What the numbers do not establish" })).toBeVisible();
});

test("a published table stands at its own address, apart from what is graded here", async ({ page }) => {
  await page.goto("/published/table2");
  await expect(page.getByRole("table", { name: /^Table 2/ }).getByRole("row", { name: /GPT-6 Sol/ })).toContainText(
    "38.9",
  );
  const ours = page.getByRole("region", { name: "Ours, of the same kind" });
  await expect(ours.getByText("Graded here", { exact: true })).toBeVisible();
  await expect(ours.getByRole("row", { name: /gold/ })).toContainText("100.0");
});

test("a column’s metric has a page that says the same as its header", async ({ page }) => {
  await page.goto("/docs/metrics");
  await page.getByRole("link", { name: "Probe rejection" }).click();
  await expect(
    page.getByText("Of the attempts that pass every official test, those that the probes reject"),
  ).toBeVisible();
  await expect(page.getByRole("heading", { name: "What it does not say" })).toBeVisible();
});

test("verification by hand stands with its commands", async ({ page }) => {
  await page.goto("/docs/verify");
  await expect(page.getByText("sha256sum --check --strict")).toBeVisible();
  await expect(page.getByText("openssl pkeyutl -verify")).toBeVisible();
});
