import { compareAnswerSchema } from "../../lib/contract/compare-api";
import { probesAnswerSchema } from "../../lib/contract/probes-api";
import { expect, test } from "./fixtures";

test("two entries are chosen by a form, compared task by task, and lead to both attempts", async ({ page, site }) => {
  await page.goto("/compare?suite=infradev-mini");
  await page.getByLabel("Entry A").selectOption("reference-gold");
  await page.getByLabel("Entry B").selectOption("reference-mutant-1");
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page).toHaveURL(/\/compare\?a=reference-gold&b=reference-mutant-1&suite=infradev-mini/);
  const count = site.mini.suite.taskCount;
  await expect(page.getByRole("heading", { level: 1 })).toContainText(
    /gold.? resolves \w+ tasks that .?mutant-1.? does not/,
  );
  const four = page.getByRole("table", { name: "Tasks by who resolves them", exact: true });
  await expect(four.getByRole("cell", { name: `${count} only A` })).toBeVisible();
  await expect(four.getByRole("cell", { name: "0 only B" })).toBeVisible();
  const tasks = page.getByRole("table", { name: "Tasks by who resolves them, with both attempts" });
  await expect(tasks.getByRole("link", { name: "resolved", exact: true })).toHaveCount(count);
  const mutant = await site.reference("mutant-1");
  await tasks.getByRole("link", { name: "official tests pass, probes reject" }).first().click();
  await expect(page).toHaveURL(`/submissions/${mutant.id}/${site.mini.suite.tasks[0]?.slug}`);
});

test("reported rows are compared by what their counts allow", async ({ page }) => {
  await page.goto("/compare");
  await page.getByRole("link", { name: /GPT-6 Sol.? against .?GLM 5\.3/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("inseparable for certain");
  const counts = page.getByRole("table", { name: "Resolved, by counts per category" });
  await expect(counts.getByRole("row", { name: "Training 19 10 5 0 to 5" })).toBeVisible();
  await page.getByRole("link", { name: "Swap A and B" }).click();
  await expect(page).toHaveURL(/a=glm-5\.3&b=gpt-6-sol/);
});

test("one entry twice, and entries of two suites, are explained and not compared", async ({ page }) => {
  await page.goto("/compare?a=glm-5.3&b=glm-5.3");
  await expect(page.getByText("A and B are both")).toBeVisible();
  await page.goto("/compare?a=glm-5.3&b=reference-gold");
  await expect(page.getByText("suite version that both ran, and here there is none")).toBeVisible();
});

test("an entry that is not there is a real 404 that names it, and so is a suite", async ({ request }) => {
  for (const [query, name] of [
    ["a=glm-5.3&b=nobody-1", "nobody-1"],
    ["suite=no-such-suite", "no-such-suite"],
  ] as const) {
    for (const _turn of ["first", "kept"]) {
      const answer = await request.get(`/compare?${query}`);
      expect(answer.status()).toBe(404);
      expect(await answer.text()).toMatch(new RegExp(`There is no .*<code>${name}</code>`));
    }
    const twin = await request.get(`/api/v1/compare?${query}`);
    expect(twin.status()).toBe(404);
    expect(await twin.text()).toContain(name);
  }
});

test("every export of a comparison and of the probes answers, and its JSON is what the page shows", async ({
  page,
}) => {
  for (const [address, schema] of [
    ["/compare?a=reference-gold&b=reference-nop&suite=infradev-mini", compareAnswerSchema],
    ["/probes?suite=infradev-mini", probesAnswerSchema],
  ] as const) {
    await page.goto(address);
    await page.getByText("Export", { exact: true }).click();
    await expect(page.getByRole("button", { name: "Copy link" })).toBeVisible();
    for (const [name, type] of [
      ["CSV", "text/csv"],
      ["JSON", "application/json"],
      ["Markdown", "text/markdown"],
    ] as const) {
      const href = (await page.getByRole("link", { name, exact: true }).getAttribute("href")) ?? "";
      const answer = await page.request.get(href);
      expect(answer.headers()["content-type"], href).toContain(type);
      const text = await answer.text();
      if (name === "JSON") expect(schema.safeParse(JSON.parse(text)).error).toBeUndefined();
    }
  }
});

test("probes reject every mutant of the bundled suite, and the published table stands apart", async ({
  page,
  site,
}) => {
  await page.goto("/probes");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    /^Probes reject all \d+ mutants that pass every official test\.$/,
  );
  const references = page.getByRole("table", { name: "Reference patch sets, unranked" });
  await expect(references.getByRole("row", { name: /^gold/ })).toContainText("0/");
  const count = site.mini.suite.taskCount;
  // by official tests, and of these the share rejected
  await expect(
    references.getByRole("row", { name: /^mutant-1/ }).getByRole("cell", { name: `100.0 ${count}/${count}` }),
  ).toHaveCount(2);
  const published = page.getByRole("table", { name: /^Table 4/ });
  await expect(published.getByRole("row", { name: /^GPT-6 Sol/ })).toContainText("68.4");
  await expect(page.getByText("the probes reject 11 of them")).toBeVisible();
  await page
    .getByRole("table", { name: "Rejected attempts by task" })
    .getByRole("link", { name: "mutant-1" })
    .first()
    .click();
  await expect(page).toHaveURL(/\/submissions\/[\w-]+\/[\w-]+$/);
});

test("tasks are filtered by links, and what is hidden is said", async ({ page, site }) => {
  await page.goto("/tasks?suite=infradev-mini");
  const rows = page.getByRole("table", { name: /^Tasks of/ }).getByRole("row");
  await page.getByRole("navigation", { name: "Category" }).getByRole("link", { name: /^RL/ }).click();
  await expect(page).toHaveURL(/category=rl/);
  const rl = site.mini.suite.tasks.filter(({ category }) => category === "rl").length;
  await expect(rows).toHaveCount(rl + 1);
  await expect(page.getByText(`${site.mini.suite.taskCount - rl} hidden by the filters`)).toBeVisible();
  await page.goto("/tasks?suite=infradev-mini&show=discriminating");
  await expect(page.getByText("No entry is ranked on InfraDev mini 1.0 yet, so no task can be filtered")).toBeVisible();
  await page.getByRole("link", { name: /^Show all/ }).click();
  await expect(rows).toHaveCount(site.mini.suite.taskCount + 1);
});
