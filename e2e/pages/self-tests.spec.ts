import { selfTestsAnswerSchema } from "../../lib/contract/self-tests-api";
import { expect, test } from "./fixtures";

test("failures lead to what agents test themselves: shares beside the published finding, references apart", async ({
  page,
  request,
}) => {
  const answer = selfTestsAnswerSchema.parse(await (await request.get("/api/v1/self-tests")).json());
  const csv = (await (await request.get("/api/v1/self-tests.csv")).text()).trim().split(/\r?\n/);
  expect(csv).toHaveLength(
    1 +
      answer.entries.reduce(
        (lines, { checks, trajectories, commandChecks }) =>
          lines + checks.length + (trajectories > 0 ? commandChecks.length : 0),
        0,
      ),
  );

  await page.goto("/failures");
  await page.getByRole("link", { name: "What agents test themselves" }).click();
  await expect(page).toHaveURL("/self-tests");
  const models = page.getByRole("table", { name: /^Attempts of models: share/ });
  await expect(models.getByRole("row", { name: /^Traffic/ })).toContainText("rarely");
  await expect(models.getByRole("row", { name: /^Value/ })).not.toContainText("rarely");

  const references = answer.kinds.find(({ kind }) => kind === "reference");
  const shares = page.getByRole("table", { name: /^Attempts of reference sets: share/ });
  await expect(shares.getByRole("row", { name: /^Anything/ })).toContainText(
    `${references?.withTests.attempts}/${references?.read}`,
  );
  const entries = page.getByRole("table", { name: /^Attempts of reference sets by entry/ });
  await expect(entries.getByRole("row")).toHaveCount(
    1 + answer.entries.filter(({ entry }) => entry.kind === "reference").length,
  );
  await entries.getByRole("link").first().click();
  await expect(page).toHaveURL(/\/entries\//);
  await page.getByRole("link", { name: "What its own tests check" }).first().click();
  await expect(page).toHaveURL(/\/self-tests#/);
});
