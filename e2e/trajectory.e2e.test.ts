import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, chromium } from "@playwright/test";
import { afterAll, beforeAll, expect, it } from "vitest";
import { submissionDetailSchema } from "../lib/contract/api";
import { selfTestsAnswerSchema } from "../lib/contract/self-tests-api";
import { trajectoryAnswerSchema } from "../lib/contract/trajectory";
import { repositoryRoot } from "./stack";
import { administer, gradeAndUpload, importSuite, type System, startSystem, stopSystem } from "./system";

const suite = join(repositoryRoot, "runner/suites/infradev-mini");
const task = "router-abort-leak";
const token = `ghp_${"s".repeat(36)}`;
const hostile = `<script>window.ran = true</script><img src=x onerror="window.ran = true"> \u001b[31mred\u001b[0m \u202eback ${token}`;

let system: System;
let browser: Browser;
beforeAll(async () => {
  system = await startSystem("trajectory");
  await importSuite(system, suite);
  const args = ["--no-sandbox", "--disable-gpu"];
  browser = await chromium.launch({ executablePath: process.env["INFRADEV_CHROMIUM"] ?? "/usr/bin/chromium", args });
});
afterAll(async () => {
  await browser?.close();
  await stopSystem(system);
});

/** Sixty turns; two of them check something. */
function writeTrajectory(): string {
  const commands = new Map([
    [3, "time python -m pytest -q tests"],
    [4, "python - <<'EOF'\nimport tracemalloc\nprint(tracemalloc.get_traced_memory())\nEOF"],
    [5, "grep -rn tracemalloc ."],
  ]);
  const turn = (number: number) => ({
    step_id: number,
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
    source: "agent",
    message: number === 2 ? hostile : `Turn ${number}.`,
    tool_calls: [
      { tool_call_id: "1", function_name: "bash", arguments: { command: commands.get(number) ?? `ls ${number}` } },
    ],
    observation: { results: [{ source_call_id: "1", content: number === 2 ? hostile : `seen ${number}` }] },
    metrics: { prompt_tokens: 100, completion_tokens: 10, cost_usd: 0.01 },
  });
  const steps = [
    { step_id: 1, timestamp: "2026-01-01T00:01:00Z", source: "user", message: "The task." },
    ...Array.from({ length: 60 }, (_, index) => turn(index + 2)),
  ];
  const file = join(system.dataDir, "run.json");
  const agent = { name: "synthetic-agent", version: "1.0" };
  writeFileSync(file, JSON.stringify({ schema_version: "ATIF-v1.7", agent, steps }));
  return file;
}

it("what an agent did goes from its file through a signed bundle to the attempt's page and to what agents test", async () => {
  const submissionId = await gradeAndUpload(system, {
    task,
    patch: join(suite, "tasks", task, "solution/gold.patch"),
    trajectory: writeTrajectory(),
    candidate: { model: "Synthetic model", agent: "synthetic-agent" },
  });
  await administer(system, "submission", "publish", submissionId);
  const read = async (path: string) => (await fetch(new URL(path, system.site.url))).json();
  const submission = submissionDetailSchema.parse(await read(`/api/v1/submissions/${submissionId}`));
  expect(submission.row).toMatchObject({ steps: 60, timeMin: 60, tokensM: 0.0066, costUsd: 0.6 });
  const attemptId = submission.attempts[0]?.id ?? "";
  const twin = trajectoryAnswerSchema.parse(await read(`/api/v1/attempts/${attemptId}/trajectory?from=60&count=9`));
  expect([twin.trajectory.steps, ...twin.steps.map(({ number }) => number)]).toEqual([61, 60, 61]);
  const { entries } = selfTestsAnswerSchema.parse(await read("/api/v1/self-tests"));
  const counted = entries.find(({ entry }) => entry.model === "Synthetic model");
  expect(counted).toMatchObject({ read: 1, trajectories: 1, commands: 60, withTestRuns: { attempts: 1 } });
  expect(counted?.commandChecks.filter(({ attempts }) => attempts > 0).map(({ property }) => property)).toEqual([
    "resource.memory",
    "resource.speed",
  ]);

  const page = await browser.newPage({ viewport: { width: 360, height: 740 }, javaScriptEnabled: false });
  await page.goto(new URL(`/submissions/${submissionId}/${task}`, system.site.url).href);
  await page.getByRole("region", { name: "What the agent did" }).getByRole("link", { name: "All 61 steps" }).click();
  await expect.poll(() => page.url()).toContain(`/trajectories/${attemptId}`);
  expect(await page.getByRole("list", { name: "Steps 1 to 50 of 61" }).getByRole("group").count()).toBe(50);
  await page.getByLabel("Go to step").fill("60");
  await page.getByRole("button", { name: "Go" }).click();
  expect(await page.getByText("seen 60").isVisible()).toBe(true);
  expect(await page.getByText("seen 61").isVisible()).toBe(false);
  await page.close();

  for (const colorScheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ colorScheme });
    const wide = await context.newPage();
    const errors: string[] = [];
    wide.on("console", (message) => errors.push(...(message.type() === "error" ? [message.text()] : [])));
    await wide.goto(new URL(`/trajectories/${attemptId}?step=2`, system.site.url).href);
    const text = ((await wide.locator("#S2").textContent()) ?? "").replaceAll(/\s+/g, " ");
    expect(text).toContain(
      `<script>window.ran = true</script><img src=x onerror="window.ran = true"> red <U+202E>back`,
    );
    expect(text).not.toContain(token);
    expect(await wide.evaluate(() => "ran" in window)).toBe(false);
    expect((await new AxeBuilder({ page: wide }).analyze()).violations).toEqual([]);
    expect(errors).toEqual([]);
    await context.close();
  }
});
