import { randomUUID } from "node:crypto";
import { AxeBuilder } from "@axe-core/playwright";
import type { BrowserContext, Page } from "@playwright/test";
import { hashPassword } from "better-auth/crypto";
import postgres from "postgres";
import { recordPerson } from "../../db/queries/accounts";
import { applyEffectiveLabels } from "../../db/queries/effective-labels";
import { failureDetailAnswerSchema } from "../../lib/contract/failures-api";
import { expect, test } from "./fixtures";

const databaseUrl = process.env["DATABASE_URL"];
const password = "a synthetic password";
const email = `${randomUUID()}@synthetic.test`;
const pseudonym = `reviewer-${randomUUID().slice(0, 8)}`;
const id = randomUUID();

async function withDatabase(work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  if (!databaseUrl)
    throw new Error("DATABASE_URL is not set: name the database of the site that INFRADEV_BASE_URL names");
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

test.describe.configure({ mode: "serial" });
test.beforeAll(async () => {
  const passwordHash = await hashPassword(password);
  const person = { id, credentialId: randomUUID(), email, name: "Synthetic", pseudonym, role: "annotator" as const };
  await withDatabase((sql) => recordPerson(sql, { ...person, passwordHash }));
});
// Nothing of what the person did stays in the site's data, also where a test has failed half-way.
test.afterAll(async () => {
  await withDatabase(async (sql) => {
    await sql`delete from label where person_id = ${id}`;
    await applyEffectiveLabels(sql);
    await sql`delete from person where id = ${id}`;
  });
});

async function signIn(page: Page, given = password): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(given);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** The type that the rules gave the failure on the page: with it as a person's label no count of the site changes. */
async function ruledType(page: Page, context: BrowserContext): Promise<string> {
  const value = (name: string) => page.locator(`form[action="/label/record"] input[name=${name}]`).inputValue();
  const answer = await context.request.get(`/api/v1/failures/${await value("grading")}/${await value("test")}`);
  return failureDetailAnswerSchema.parse(await answer.json()).failure.label.type;
}

test("failures are labelled by keys alone, and taken back; public pages do not know who is signed in", async ({
  page,
  context,
}) => {
  await page.goto("/label?entryKind=reference");
  await expect(page).toHaveURL(/\/account\/sign-in\?next=/);
  await signIn(page, "not the password");
  await expect(page.getByRole("alert").filter({ hasText: "No account has this address and password." })).toBeVisible();
  await signIn(page);
  await expect(page).toHaveURL(/\/label\?entryKind=reference$/);
  await expect(page.getByText("0 labelled by you")).toBeVisible();
  await expect(page.getByText("shown once you have given a label")).toBeVisible();

  const type = await ruledType(page, context);
  const name = await page.locator("h1 code").textContent();
  const choice = page.locator(".label-choice", { has: page.locator(`input[value="${type}"]`) });
  await page.locator("#label-message").selectText();
  await page.keyboard.press("Shift");
  await expect(page.getByLabel(/^Read from/)).toHaveValue(
    ((await page.locator("#label-message").textContent()) ?? "").trim(),
  );
  await page.keyboard.press((await choice.locator("kbd").textContent()) ?? "");
  await expect(page.getByText("1 labelled by you")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: `Saved: ${type} for ${name}.` })).toBeVisible();
  await expect(page.getByText(/^2 of \d+/)).toBeVisible();

  await page.keyboard.press("k");
  await expect(page.getByText(/^1 of \d+/)).toBeVisible();
  await expect(choice.getByRole("radio")).toBeChecked();
  await expect(page.getByRole("heading", { name: "Labels that people gave" })).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByText(/^2 of \d+/)).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.getByText("the whole cluster, or this one alone")).toBeInViewport();
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  expect((await new AxeBuilder({ page }).withTags(tags).analyze()).violations).toEqual([]);
  await page.keyboard.press("z");
  await expect(page.getByText("0 labelled by you")).toBeVisible();
  await expect(page.getByText(/^1 of \d+/)).toBeVisible();
  // Letters that are written are no keys.
  await page.keyboard.press("n");
  await page.keyboard.type("jjz1");
  await expect(page.getByLabel(/^Note/)).toHaveValue("jjz1");

  for (const address of ["/", "/failures?entryKind=reference", "/label/agreement"]) {
    const text = await (await context.request.get(address)).text();
    expect(text).not.toContain(pseudonym);
    expect(text).not.toContain(email);
  }
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("the form labels, says what is wrong, and takes back", async ({ page, context }) => {
    await page.goto("/account/sign-in?next=/label?entryKind=reference");
    await signIn(page);
    const type = await ruledType(page, context);
    await page.locator(`input[type=radio][value="${type}"]`).check();
    await page.getByLabel(/^Read from/).fill("words that are not in the message");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert")).toHaveText(
      "The quoted words do not stand in the message. Nothing was saved.",
    );
    await page.locator(`input[type=radio][value="${type}"]`).check();
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("1 labelled by you")).toBeVisible();
    await page.getByRole("button", { name: "Take back my last label" }).click();
    await expect(page.getByText("0 labelled by you")).toBeVisible();
    await page.goto("/account");
    await expect(page.getByText(pseudonym)).toBeVisible();
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByText("You are signed out.")).toBeVisible();
    await page.goto("/label");
    await expect(page).toHaveURL(/\/account\/sign-in/);
    await page.goto("/label/agreement");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Agreement of labels");
  });
});
