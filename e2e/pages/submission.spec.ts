import { expect, test } from "./fixtures";

test("a reported row cites its source and invents no task", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "reported: submission of GPT-6 Sol", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("GPT-6 Sol on InfraDev 1.0");
  await expect(page.getByRole("link", { name: /Can Coding Agents Develop AI Infrastructure/ })).toHaveAttribute(
    "href",
    "https://arxiv.org/abs/2610.36589",
  );
  await expect(page.getByText("The publication states no per-task outcomes")).toBeVisible();
});

test("gold resolves every task, each with its evidence", async ({ page, site }) => {
  const gold = await site.reference("gold");
  await page.goto(`/submissions/${gold.id}`);
  const tasks = page.getByRole("table", { name: "Tasks with their verdicts" });
  await expect(tasks.getByRole("row")).toHaveCount(gold.attempts.length + 1);
  await expect(tasks.getByText("resolved", { exact: true })).toHaveCount(site.mini.suite.taskCount);
  await expect(tasks.getByRole("link", { name: "check", exact: true })).toHaveCount(gold.attempts.length);
});

test("nop fails official tests, and the page says why, from its root rank", async ({ page, site }) => {
  const nop = await site.reference("nop");
  await page.goto(`/submissions/${nop.id}/${nop.attempts[0]?.task}`);
  await expect(page.getByRole("main").getByText("fails official tests").first()).toBeVisible();
  await expect(page.getByRole("heading", { name: "Failures" })).toBeVisible();
  const failure = page.getByRole("article").first();
  await expect(failure).toContainText(/root rank \d/);
  await expect(page.getByText("The patch is empty: the base code base was graded as it is.")).toBeVisible();
});

test("a mutant passes every official test and a probe rejects it", async ({ page, site }) => {
  const mutant = await site.reference("mutant-1");
  const rejected = mutant.attempts.find(({ verdict }) => verdict === "probe-rejected");
  expect(rejected, "mutant-1 has an attempt that probes reject").toBeDefined();
  await page.goto(`/submissions/${mutant.id}/${rejected?.task}`);
  await expect(page.getByText(/^All .* official tests? pass; .* probes? do(es)? not\.$/)).toBeVisible();
  const official = page.getByRole("table", { name: /^Official tests/ });
  await expect(official.getByText("failed")).toHaveCount(0);
  const probes = page.getByRole("table", { name: /^Probes/ });
  await expect(probes.getByRole("img", { name: /, root$/ }).first()).toBeVisible();
  await probes.getByRole("rowheader").getByRole("link").first().click();
  await expect(page).toHaveURL(/#failure-\d+$/);
  await expect(page.getByRole("article").first()).toBeInViewport();
  await expect(page.getByRole("table", { name: /^@@/ }).first()).toBeVisible();
});

test("the Verify button checks the stored evidence against the page", async ({ page, site }) => {
  const gold = await site.reference("gold");
  await page.goto(`/submissions/${gold.id}/${gold.attempts[0]?.task}`);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("status")).toHaveText(/^All \d+ checks hold/);
  await expect(page.getByRole("list", { name: "What this does not prove" }).getByRole("listitem")).not.toHaveCount(0);
});

test("the Verify button names what differs when the evidence was changed", async ({ page, site }) => {
  const gold = await site.reference("gold");
  await page.route(/\/api\/v1\/gradings\/[^/]+\/files\/.*patch\.diff$/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: `${await answer.text()}\n` });
  });
  await page.goto(`/submissions/${gold.id}/${gold.attempts[0]?.task}`);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("status")).toHaveText(/checks? do(es)? not hold\.$/);
  await expect(page.getByRole("list", { name: "Checks" })).toContainText("patch.diff");
});

test("the bundle and every log are one click away", async ({ page, site, request }) => {
  const gold = await site.reference("gold");
  await page.goto(`/submissions/${gold.id}/${gold.attempts[0]?.task}`);
  const bundle = await page.getByRole("link", { name: "Download the bundle" }).getAttribute("href");
  const answer = await request.get(bundle ?? "");
  expect(answer.status()).toBe(200);
  expect((await answer.body()).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
  await page
    .getByRole("group")
    .filter({ hasText: /\d+ logs?/ })
    .first()
    .getByText(/\d+ logs?/)
    .click();
  const log = await page
    .getByRole("link", { name: /^rank 0 std/ })
    .first()
    .getAttribute("href");
  expect((await request.get(log ?? "")).status()).toBe(200);
});

for (const address of [
  "/submissions/00000000-0000-4000-8000-000000000000",
  "/submissions/not-an-id",
  "/submissions/00000000-0000-4000-8000-000000000000/no-task",
  "/?suite=no-such-suite",
  "/?suite=infradev&version=99.0",
  "/no-such-page",
]) {
  test(`${address} is a real 404`, async ({ request }) => {
    const answer = await request.get(address);
    expect(answer.status()).toBe(404);
    expect(await answer.text()).toContain("There is nothing at this address.");
  });
}

test("an unknown task of a known submission is a real 404", async ({ request, site }) => {
  const gold = await site.reference("gold");
  expect((await request.get(`/submissions/${gold.id}/no-such-task`)).status()).toBe(404);
});
