import { expect, test } from "./fixtures";

test("the key / leads to the search, and its hits are marked and lead on", async ({ page }) => {
  await page.goto("/docs");
  await page.keyboard.press("/");
  const field = page.getByRole("searchbox", { name: "Search tasks, entries, tests and documents" });
  await expect(field).toBeFocused();
  await field.fill("router abort");
  await field.press("Enter");
  await expect(page).toHaveURL(/\/search\?q=router\+abort/);
  await expect(page.getByRole("heading", { name: /^Tasks/ })).toBeVisible();
  await expect(page.locator("mark").first()).toHaveText(/^(router|abort)/i);
  await expect(page.locator('meta[name="robots"]')).toHaveAttribute("content", /noindex/);
  await page.getByRole("link", { name: /router when requests are aborted/ }).click();
  await expect(page).toHaveURL(/\/tasks\/infradev-mini\/1\.0\/router-abort-leak$/);
});

test("the key / is left to others where a reader says so", async ({ page }) => {
  await page.goto("/search");
  await page.getByRole("checkbox", { name: /leads to the search/ }).uncheck();
  await page.goto("/docs");
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox", { name: /^Search tasks/ })).not.toBeFocused();
});

test("a / that is typed into a field stays there", async ({ page }) => {
  await page.goto("/search?q=gpt");
  const query = page.getByRole("searchbox", { name: /^Words of a task/ });
  await query.fill("a");
  await query.press("/");
  await expect(query).toHaveValue("a/");
  await expect(page.getByRole("link", { name: "GPT-6 Sol" })).toHaveAttribute("href", "/entries/gpt-6-sol");
});

test("any text is a query, on the page and as data", async ({ request }) => {
  for (const query of [
    "",
    " ",
    "%",
    "'\"\\;--",
    "\u0000\u202e",
    "א ב",
    "千问",
    "😀",
    "x".repeat(7000),
    "../..",
    "%zz",
  ]) {
    const q = encodeURIComponent(query);
    const page = await request.get(`/search?q=${q}`);
    expect(page.status(), query.slice(0, 20)).toBe(200);
    const data = await request.get(`/api/v1/search?q=${q}`);
    expect(data.status(), query.slice(0, 20)).toBe(200);
    expect(((await data.json()) as { query: string }).query.length).toBeLessThanOrEqual(200);
  }
});

test("what is shared of a page is an image that is there, described in words", async ({ page, request, site }) => {
  const mutant = await site.reference("mutant-1");
  for (const address of [
    "/",
    "/entries/gpt-6-sol",
    "/tasks/infradev-mini/1.0/router-abort-leak",
    `/submissions/${mutant.id}`,
    "/compare?a=gpt-6-sol&b=glm-5.3",
  ]) {
    await page.goto(address);
    const image = await page.locator('meta[property="og:image"]').getAttribute("content");
    const { pathname, search } = new URL(image ?? "", page.url());
    const answer = await request.get(`${pathname}${search}`);
    expect(answer.status(), address).toBe(200);
    expect(answer.headers()["content-type"]).toBe("image/png");
    expect((await answer.body()).subarray(1, 4).toString()).toBe("PNG");
    expect(await page.locator('meta[property="og:image:alt"]').getAttribute("content")).toMatch(/InfraDev.*\d/);
  }
  expect((await request.get("/og/entries/none.png")).status()).toBe(404);
});

test("the Pareto chart is saved as SVG and PNG, with title and source", async ({ page }) => {
  await page.goto("/?view=pareto");
  await expect(page.getByRole("group", { name: /^Resolved, % against Cost/ })).toBeVisible();
  await page.getByText("Export", { exact: true }).click();
  for (const form of ["SVG", "PNG"]) {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Chart as ${form}` }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const file = Buffer.concat(chunks);
    expect(download.suggestedFilename()).toBe(`infradev-1.0-cost.${form.toLowerCase()}`);
    if (form === "PNG") expect(file.subarray(1, 4).toString()).toBe("PNG");
    else
      expect(file.toString()).toMatch(
        /InfraDev 1\.0: resolved against cost[\s\S]*GPT-6 Sol[\s\S]*read \d{4}-\d\d-\d\d/,
      );
  }
});
