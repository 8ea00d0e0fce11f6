import { taskDetailSchema, taskListSchema } from "../../lib/contract/task-api";
import { expect, test } from "./fixtures";

test("the header leads to the tasks of a suite, each with its tests and what the reference sets did", async ({
  page,
  site,
}) => {
  await page.goto("/");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tasks" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^Tasks of InfraDev mini/);
  await expect(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tasks" })).toHaveAttribute(
    "aria-current",
    "page",
  );
  const rows = page.getByRole("table", { name: /^Tasks of/ }).getByRole("row");
  await expect(rows).toHaveCount(site.mini.suite.taskCount + 1);
  await expect(rows.nth(1)).toContainText("gold: resolved");
  await expect(rows.nth(1)).toContainText("nop: fails official tests");
});

test("tasks sort by links, whose addresses hold the view", async ({ page, site }) => {
  const titles = site.mini.suite.tasks.map(({ title }) => title).sort((a, b) => a.localeCompare(b, "en"));
  await page.goto("/tasks?suite=infradev-mini");
  await page.getByRole("columnheader", { name: /^Task/ }).getByRole("link").click();
  await expect(page).toHaveURL(/\/tasks\?suite=infradev-mini&sort=task/);
  const names = page
    .getByRole("table", { name: /^Tasks of/ })
    .getByRole("rowheader")
    .getByRole("link");
  await expect(names).toHaveText(titles);
  await page.getByRole("columnheader", { name: /^Task/ }).getByRole("link").click();
  await expect(names).toHaveText(titles.toReversed());
  await expect(page.getByRole("columnheader", { name: /^Task/ })).toHaveAttribute("aria-sort", "descending");
});

test("a suite whose tasks are not published says so, with its counts", async ({ page }) => {
  await page.goto("/tasks");
  await page
    .getByRole("navigation", { name: "Suite" })
    .getByRole("link", { name: /^InfraDev 36/ })
    .click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Tasks of InfraDev 1.0");
  await expect(page.getByText("The tasks of this suite are not published")).toContainText(
    "19 Training, 10 Inference, 7 RL",
  );
  await expect(page.getByRole("table")).toHaveCount(0);
});

test("from a task to the attempt behind a verdict, and back", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  const rejected = mutant.attempts.find(({ verdict }) => verdict === "probe-rejected");
  expect(rejected, "mutant-1 has an attempt that probes reject").toBeDefined();
  const address = `/tasks/infradev-mini/${mutant.suite.version}/${rejected?.task}`;
  await page.goto(address);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(rejected?.taskTitle ?? "");
  await expect(page.getByRole("heading", { name: "Interface prompt" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Interfaces that the tests call" })).toBeVisible();
  // gold passes every test, and a probe that the mutant fails names it
  await expect(
    page
      .getByRole("table", { name: /^Probes/ })
      .getByText(/not .*mutant-1/)
      .first(),
  ).toBeVisible();
  await page
    .getByRole("table", { name: "What the reference sets did" })
    .getByRole("row", { name: /mutant-1/ })
    .getByRole("link", { name: "official tests pass, probes reject" })
    .click();
  await expect(page).toHaveURL(`/submissions/${mutant.id}/${rejected?.task}`);
  await page.getByRole("link", { name: /^The task/ }).click();
  await expect(page).toHaveURL(address);
});

test("what the pages show stands under the API too", async ({ request, site }) => {
  const list = taskListSchema.parse(await (await request.get("/api/v1/tasks?suite=infradev-mini")).json());
  expect(list.tasks.map(({ slug }) => slug)).toEqual(site.mini.suite.tasks.map(({ slug }) => slug));
  const [first] = list.tasks;
  const answer = await request.get(`/api/v1/tasks/infradev-mini/${list.suite.version}/${first?.slug}`);
  const detail = taskDetailSchema.parse(await answer.json());
  const required = detail.tests.filter((one) => one.required);
  expect(required).toHaveLength((first?.officialTests ?? 0) + (first?.probes ?? 0));
  const gold = required.map(({ references }) => references.find(({ name }) => name === "gold")?.passed);
  expect(new Set(gold)).toEqual(new Set([true]));
  const published = taskListSchema.parse(await (await request.get("/api/v1/tasks?suite=infradev")).json());
  expect(published).toMatchObject({ tasks: [], suite: { taskCount: 36 } });
  expect((await request.get("/api/v1/tasks?suite=no-such-suite")).status()).toBe(404);
  expect((await request.get("/api/v1/tasks?version=newest")).status()).toBe(422);
});

for (const address of [
  "/tasks?suite=no-such-suite",
  "/tasks?suite=infradev-mini&version=99.0",
  "/tasks/infradev-mini/1.0/no-such-task",
  "/tasks/infradev-mini/no-version/router-abort-leak",
  "/task-list/-/-/nothing/asc",
]) {
  test(`${address} is a real 404`, async ({ request }) => {
    const answer = await request.get(address);
    expect(answer.status()).toBe(404);
    expect(await answer.text()).toContain("There is nothing at this address.");
  });
}
