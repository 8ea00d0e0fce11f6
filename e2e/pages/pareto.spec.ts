import { expect, test } from "./fixtures";

test("the Pareto view is one click away and says in a sentence who is on the frontier", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("navigation", { name: "View" }).getByRole("link", { name: "Pareto" }).click();
  await expect(page).toHaveURL("/?view=pareto");
  await expect(page.getByRole("figure")).toContainText(
    /^Three of six models are on the frontier of resolved against cost, from .*DeepSeek V4 Pro.* \(30\.6.% at \$1\.89\) to .*GPT-6 Sol.* \(38\.9.% at \$5\.37\)/,
  );
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^Six models, one tie/);
});

test("the chart loads when it is seen, and no sooner: the ranking loads none of it", async ({ page }) => {
  const scripts: string[] = [];
  page.on("request", (request) => {
    if (request.resourceType() === "script") scripts.push(new URL(request.url()).pathname);
  });
  await page.goto("/", { waitUntil: "networkidle" });
  const ofRanking = new Set(scripts);
  scripts.length = 0;
  await page.goto("/?view=pareto");
  await expect(page.getByRole("group", { name: /^Resolved, % against Cost/ })).toBeVisible();
  const drawing = async (some: Iterable<string>) => {
    const texts = await Promise.all([...some].map(async (script) => (await page.request.get(script)).text()));
    return texts.filter((text) => text.includes("recharts-surface")).length;
  };
  expect(await drawing(ofRanking)).toBe(0);
  expect(await drawing(new Set(scripts))).toBeGreaterThan(0);
});

test("the table holds every point of the chart, the cheapest first, and what each is behind", async ({ page }) => {
  await page.goto("/?view=pareto");
  const table = page.getByRole("table", { name: "Resolved against cost, the lowest cost first" });
  await expect(table.getByRole("rowheader")).toHaveText([
    /^DeepSeek V4 Pro/,
    /^HY4 preview/,
    /^GPT-6 Sol/,
    /^Kimi K3/,
    /^GLM 5\.3/,
    /^GPT-5\.6 Sol/,
  ]);
  await expect(table.getByRole("row", { name: /HY4 preview/ })).toContainText("on it");
  await expect(table.getByRole("row", { name: /Kimi K3/ })).toContainText("behind GPT-6 Sol");
  const chart = page.getByRole("group", { name: /^Resolved, % against Cost per task, \$ \(logarithmic\)/ });
  await expect(chart.getByRole("link")).toHaveCount(6);
});

test("marks are read out under the pointer and by the arrow keys, and lead to their submission", async ({ page }) => {
  await page.goto("/?view=pareto");
  const chart = page.getByRole("group", { name: /^Resolved, % against Cost/ });
  const reading = page
    .getByRole("figure")
    .getByText(/on the frontier\.$|costs no more\.$/)
    .last();
  await chart.getByRole("link", { name: /Kimi K3/ }).hover();
  await expect(reading).toHaveText(/Kimi K3.*at \$13\.48; .*GPT-6 Sol.* resolves as much or more and costs no more\.$/);
  await chart.getByRole("link").first().focus();
  await page.keyboard.press("ArrowRight");
  await expect(chart.getByRole("link", { name: /HY4 preview/ })).toBeFocused();
  await page.keyboard.press("End");
  await expect(chart.getByRole("link", { name: /GPT-5\.6 Sol/ })).toBeFocused();
  await expect(reading).toHaveText(/GPT-5\.6 Sol.*at \$17\.98/);
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/submissions\//);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("DeepSeek V4 Pro");
});

test("axis and category stand in the address, the defaults left out", async ({ page }) => {
  await page.goto("/?view=pareto");
  await page.getByRole("navigation", { name: "Resolved against" }).getByRole("link", { name: "Time" }).click();
  await expect(page).toHaveURL("/?view=pareto&x=time");
  await expect(page.getByRole("figure")).toContainText("alone is the frontier of resolved against time");
  await expect(page.getByRole("group", { name: "Resolved, % against Time per task, min" })).toBeVisible();
  await page.getByRole("navigation", { name: "Category" }).getByRole("link", { name: /RL/ }).click();
  await expect(page).toHaveURL("/?category=rl&view=pareto&x=time");
  await expect(page.getByRole("figure")).toContainText("resolved RL tasks against time");
  await page.getByRole("navigation", { name: "View" }).getByRole("link", { name: "Table" }).click();
  await expect(page).toHaveURL("/?category=rl");
});

test("every name stands beside its mark, on a phone as on a screen", async ({ page }) => {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto("/?view=pareto");
    const chart = page.getByRole("group", { name: /^Resolved, % against Cost/ });
    for (const name of ["GPT-6 Sol", "HY4 preview", "DeepSeek V4 Pro", "Kimi K3", "GLM 5.3", "GPT-5.6 Sol"]) {
      await expect(chart.getByText(name, { exact: true }), `${name} at ${width} px`).toBeVisible();
    }
  }
});

test("a board without such figures says so and leads back to its table", async ({ page }) => {
  await page.goto("/?suite=infradev-mini&view=pareto&x=tokens");
  await expect(
    page.getByText(/^No model is ranked on this board yet, and reference patch sets have no tokens\./),
  ).toBeVisible();
  await page.getByRole("link", { name: "Show the table" }).click();
  await expect(page).toHaveURL("/?suite=infradev-mini");
});

test.describe("where the chart cannot be fetched", () => {
  test.use({ expectedErrors: [/Failed to load resource|ERR_FAILED/] });

  test("the page says so and keeps its table", async ({ page }) => {
    await page.goto("/");
    const known = new Set(
      await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname)),
    );
    const html = await (await page.request.get("/?view=pareto")).text();
    await page.route(/\/_next\/static\/.*\.js/, (route) => {
      const { pathname } = new URL(route.request().url());
      return known.has(pathname) || html.includes(pathname) ? route.continue() : route.abort();
    });
    await page.goto("/?view=pareto");
    await expect(page.getByText("The chart could not be loaded.")).toBeVisible();
    await expect(page.getByRole("table", { name: /^Resolved against cost/ }).getByRole("row")).toHaveCount(7);
  });
});

test("nothing moves while the chart loads", async ({ page }) => {
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto("/?view=pareto");
  await expect(page.getByRole("group", { name: /^Resolved, % against Cost/ })).toBeVisible();
  const total = await page.evaluate(() =>
    (window as unknown as { shifts: number[] }).shifts.reduce((sum, shift) => sum + shift, 0),
  );
  expect(total).toBeLessThan(0.02);
});
