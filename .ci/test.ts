import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { performance } from "node:perf_hooks";
import { stripVTControlCharacters } from "node:util";
import { freePort, startEmbedded } from "../db/embedded";
import { copyBuild, removeBuildCopy, startProgram, startSite } from "../e2e/stack";

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

const long = process.argv.includes("--long");
const work = mkdtempSync(join(tmpdir(), "infradev-test-"));
const dataDir = join(work, "data");
const logs = join(work, "logs");
mkdirSync(logs, { recursive: true });
// Large counts run whole in the long form; what a test does with them is said where it reads them.
const counts: Record<string, string> = long
  ? { INFRADEV_MUTATIONS: "1000", INFRADEV_FUZZ: "10000", INFRADEV_KILLS: "20", INFRADEV_LONG: "1" }
  : {};
const started = performance.now();
const total: Count = { passed: 0, failed: 0, skipped: 0 };
const failedSteps: string[] = [];
/** What failed, with the beginning of its message: told once more beside the verdict, where a cut log still shows it. */
const failures: string[] = [];

/** Runs a program, its output passed on; the exit code. */
async function pass(name: string, command: string[], env: Record<string, string> = {}): Promise<number | null> {
  const program = startProgram({
    command,
    env: { ...counts, ...env },
    logFile: join(logs, `${name}.log`),
    onLine: (line) => console.log(line),
  });
  running = program.stop;
  const code = await program.exit;
  running = async () => {};
  return code;
}
let running: () => Promise<void> = async () => {};
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    void running().then(() => process.exit(130));
  });

async function step(name: string, run: () => Promise<Count>): Promise<void> {
  console.log(`\n── ${name} (${minutes(performance.now() - started)})`);
  let count: Count;
  try {
    count = await run();
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.log(text);
    failures.push(`${name}: ${text}`);
    count = { passed: 0, failed: 1, skipped: 0 };
  }
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
  if (count.failed > 0) failedSteps.push(name);
  console.log(
    `── ${name}: ${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ""}`,
  );
}

function minutes(ms: number): string {
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** A runner of tests that ended badly without a failed test still failed. */
function judged(count: Count, code: number | null): Count {
  return code !== 0 && count.failed === 0 ? { ...count, failed: 1 } : count;
}

async function vitest(project: string): Promise<Count> {
  const report = join(work, `vitest-${project}.json`);
  const code = await pass(`vitest-${project}`, [
    "npx",
    "vitest",
    "run",
    "--project",
    project,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ]);
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as {
    numPassedTests: number;
    numFailedTests: number;
    numPendingTests: number;
    testResults: {
      name: string;
      status: string;
      message: string;
      assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
    }[];
  };
  for (const file of testResults) {
    const failed = file.assertionResults.filter(({ status }) => status === "failed");
    for (const { fullName, failureMessages } of failed)
      failures.push(`${relative(process.cwd(), file.name)} > ${fullName}\n${failureMessages.join("\n")}`);
    if (file.status === "failed" && failed.length === 0)
      failures.push(`${relative(process.cwd(), file.name)}\n${file.message}`);
  }
  return judged({ passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests }, code);
}

async function lines(name: string, command: string[], env: Record<string, string> = {}): Promise<Count> {
  const count: Count = { passed: 0, failed: 0, skipped: 0 };
  const program = startProgram({
    command,
    env: { ...counts, ...env },
    logFile: join(logs, `${name}.log`),
    onLine: (line) => {
      console.log(line);
      if (/^(\d\d:\d\d\s+)?ok /.test(line)) count.passed++;
      if (/^(\d\d:\d\d\s+)?FAIL /.test(line)) {
        count.failed++;
        failures.push(line);
      }
    },
  });
  running = program.stop;
  const code = await program.exit;
  return judged(count, code);
}

interface BrowserSuite {
  suites?: BrowserSuite[];
  specs?: {
    file: string;
    title: string;
    tests: { projectName: string; status: string; results: { error?: { message?: string } }[] }[];
  }[];
}

function failedSpecs(suite: BrowserSuite): string[] {
  const own = (suite.specs ?? []).flatMap(({ file, title, tests }) =>
    tests
      .filter(({ status }) => status === "unexpected" || status === "flaky")
      .map(
        ({ projectName, status, results }) =>
          `[${projectName}] ${file} > ${title} (${status})\n${results.flatMap(({ error }) => error?.message ?? []).join("\n")}`,
      ),
  );
  return [...own, ...(suite.suites ?? []).flatMap(failedSpecs)];
}

async function browser(): Promise<Count> {
  const report = join(work, "playwright.json");
  const database = await startEmbedded({ dataDir });
  try {
    const distDir = await copyBuild();
    const site = await startSite({ databaseUrl: database.url, dataDir, port: await freePort(), distDir });
    try {
      const code = await pass("playwright", ["npx", "playwright", "test", "--config", "e2e/playwright.config.ts"], {
        INFRADEV_BASE_URL: site.url,
        DATABASE_URL: database.url,
        PLAYWRIGHT_JSON_OUTPUT_FILE: report,
      });
      const { stats, suites } = JSON.parse(readFileSync(report, "utf8")) as {
        stats: { expected: number; unexpected: number; skipped: number; flaky: number };
        suites: BrowserSuite[];
      };
      failures.push(...suites.flatMap(failedSpecs));
      return judged({ passed: stats.expected, failed: stats.unexpected + stats.flaky, skipped: stats.skipped }, code);
    } finally {
      await site.stop();
      removeBuildCopy(distDir);
    }
  } finally {
    await database.stop();
  }
}

await step("checks", () => lines("check", ["npx", "tsx", ".ci/check.ts"]));
await step("unit tests", () => vitest("unit"));
await step("database tests", () => vitest("db"));
await step("runner tests", () => vitest("runner"));
await step("runner tests that need the host to themselves", () => vitest("alone"));
await step("demo: the bundled suite graded through the queue", () =>
  lines("demo", ["npx", "tsx", "e2e/demo/main.ts", "--exit"], { INFRADEV_DATA_DIR: dataDir }),
);
await step("whole-system tests", () => vitest("e2e"));
await step("browser tests", browser);

const head = (text: string): string =>
  stripVTControlCharacters(text).split("\n").slice(0, 12).join("\n   ").slice(0, 1_500);
for (const failure of failures.slice(0, 20)) console.log(`\nFAILED ${head(failure)}`);
if (failures.length > 20) console.log(`\n… and ${failures.length - 20} more, above`);
console.log(
  `\n${failedSteps.length === 0 ? "every step passed" : `failed: ${failedSteps.join("; ")}`} in ${minutes(performance.now() - started)}`,
);
if (total.failed === 0) rmSync(work, { recursive: true, force: true });
else console.log(`logs: ${logs}`);
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}`);
process.exitCode = total.failed === 0 ? 0 : 1;
