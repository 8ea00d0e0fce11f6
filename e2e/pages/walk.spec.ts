import { boardAnswerSchema } from "../../lib/contract/api";
import { boardColumns } from "../../lib/contract/vocabulary";
import { expect, test } from "./fixtures";
import { type PageTable, readTables } from "./page-tables";
import { countsOf, type RawFigures, readRawFigures, sumsOf } from "./raw-figures";

// Every figure of a page is the API's, the CSV's, and the one counted here from rows of outcomes.

let raw: RawFigures;
test.beforeAll(async () => {
  raw = await readRawFigures("infradev-mini");
  expect(raw.graded.length).toBeGreaterThanOrEqual(6);
});

const oneDecimal = (value: number | null) => (value === null ? "—" : value.toFixed(1));
const share = (pct: number | null, part: number, whole: number) => `${oneDecimal(pct)} ${part}/${whole}`;

function tableOf(tables: readonly PageTable[], caption: RegExp): PageTable {
  const found = tables.find((table) => caption.test(table.caption));
  if (!found) throw new Error(`no table ${caption} among ${tables.map((table) => table.caption).join("; ")}`);
  return found;
}

const cellOf = (row: Record<string, string> | undefined, column: string): string => row?.[column] ?? "";

/** The row whose first header cell that names something begins with a text. */
function rowOf(table: PageTable, name: string): Record<string, string> {
  const found = table.rows.find((row) =>
    Object.values(row).some((cell) => cell === name || cell.startsWith(`${name} `)),
  );
  if (!found) throw new Error(`no row '${name}' in '${table.caption}'`);
  return found;
}

/** Rows of a CSV by their columns. No field of these has quotes or commas. */
function parseCsv(text: string): Record<string, string>[] {
  const [header = "", ...lines] = text.trimEnd().split("\r\n");
  const names = header.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((field, index) => [names[index] ?? "", field])));
}

test("the published board: page, API and CSV say what was printed", async ({ page }) => {
  await page.goto(`/?cols=${boardColumns.join(",")}`);
  const table = tableOf(await readTables(page), /^Ranking of/);
  const board = boardAnswerSchema.parse(await (await page.request.get("/api/v1/board?suite=infradev")).json());
  const csv = parseCsv(await (await page.request.get("/api/v1/board.csv?suite=infradev")).text());
  expect(table.rows).toHaveLength(raw.published.size);
  expect(board.rows).toHaveLength(raw.published.size);
  for (const [model, printed] of raw.published) {
    const number = (column: string) => Number(printed[column]);
    const shown = rowOf(table, model);
    const row = board.rows.find(({ entry }) => entry.model === model);
    const line = csv.find((one) => one["model"] === model);
    // The only whole number of tasks that rounds to the printed percentage.
    const whole = Array.from({ length: 37 }, (_, count) => count).filter(
      (count) => ((100 * count) / 36).toFixed(1) === printed["resolved_pct"],
    );
    expect(whole, model).toHaveLength(1);
    expect(shown["Resolved %"], model).toBe(`${printed["resolved_pct"]} ${whole[0]}/36`);
    expect(shown["Passed %"], model).toBe(printed["passed_pct"]);
    expect(shown["Time min"], model).toBe(number("time_min").toFixed(0));
    expect(shown["Cost $"], model).toBe(number("cost_usd").toFixed(2));
    expect(shown["Tokens M"], model).toBe(number("tokens_m").toFixed(1));
    for (const [column, key] of [
      ["Training %", "training"],
      ["Inference %", "inference"],
      ["RL %", "rl"],
    ] as const)
      expect(cellOf(shown, column).split(" ")[0], `${model}, ${column}`).toBe(printed[key]);
    expect(row).toMatchObject({
      resolved: { resolved: whole[0], total: 36 },
      passedPct: number("passed_pct"),
      timeMin: number("time_min"),
      costUsd: number("cost_usd"),
      tokensM: number("tokens_m"),
      tasks: null,
    });
    expect(line).toMatchObject({
      resolved: String(whole[0]),
      tasks: "36",
      passed_pct: String(number("passed_pct")),
      time_min: String(number("time_min")),
      cost_usd: String(number("cost_usd")),
      tokens_m: String(number("tokens_m")),
    });
  }
});

test("the graded board: page, API and CSV say what its outcomes give", async ({ page }) => {
  await page.goto(`/?suite=infradev-mini&cols=${boardColumns.join(",")}`);
  const table = tableOf(await readTables(page), /^Reference patch sets/);
  const board = boardAnswerSchema.parse(await (await page.request.get("/api/v1/board?suite=infradev-mini")).json());
  const csv = parseCsv(await (await page.request.get("/api/v1/board.csv?suite=infradev-mini")).text());
  expect(table.rows).toHaveLength(raw.graded.length);
  expect(board.references).toHaveLength(raw.graded.length);
  expect(csv).toHaveLength(raw.graded.length);
  for (const submission of raw.graded) {
    const { model, id } = submission;
    const sums = sumsOf(submission);
    const shown = rowOf(table, model);
    expect(shown["Resolved %"], model).toBe(share(sums.resolvedPct, sums.resolved, sums.tasks));
    expect(shown["Official %"], model).toBe(oneDecimal(sums.officialPct));
    expect(shown["Rejected %"], model).toBe(oneDecimal(sums.rejectedPct));
    expect(shown["Passed %"], model).toBe(oneDecimal(sums.passedPct));
    for (const [column, category] of [
      ["Training %", "training"],
      ["Inference %", "inference"],
      ["RL %", "rl"],
    ] as const) {
      const own = sums.ofCategory(category);
      expect(shown[column], `${model}, ${column}`).toBe(share(own.pct, own.resolved, own.tasks));
    }
    const row = board.references.find(({ submissionId }) => submissionId === id);
    expect(row, model).toMatchObject({
      resolved: { resolved: sums.resolved, total: sums.tasks, pct: sums.resolvedPct },
      officialResolved: { resolved: sums.official, total: sums.tasks },
      probeRejected: { rejected: sums.rejected, officialResolved: sums.official },
    });
    expect(row?.passedPct, model).toBeCloseTo(sums.passedPct, 9);
    const counted = submission.attempts.map((attempt) => ({ task: attempt.task, ...countsOf(attempt) }));
    expect(
      row?.tasks?.map(({ task, requiredPassed, requiredTotal }) => ({ task, requiredPassed, requiredTotal })),
    ).toEqual(counted.map(({ task, passed, total }) => ({ task, requiredPassed: passed, requiredTotal: total })));
    const line = csv.find((one) => one["submission"] === id);
    expect(line, model).toMatchObject({ resolved: String(sums.resolved), tasks: String(sums.tasks) });
    expect(Number(line?.["passed_pct"]), model).toBeCloseTo(sums.passedPct, 9);
    expect(Number(line?.["official_pct"]), model).toBeCloseTo(sums.officialPct ?? Number.NaN, 9);
    expect(line?.["rejected_pct"] ?? "", model).toBe(sums.rejectedPct === null ? "" : String(sums.rejectedPct));
  }
});

test("tasks: the list and each page count what the outcomes say", async ({ page }) => {
  await page.goto("/tasks?suite=infradev-mini");
  const list = tableOf(await readTables(page), /^Tasks of/);
  const [first] = raw.graded;
  for (const { task, title, tests } of first?.attempts ?? []) {
    const shown = rowOf(list, title);
    const count = (kind: string) => tests.filter((test) => test.required && test.kind === kind).length;
    expect(shown["Official"], title).toBe(String(count("official")));
    expect(cellOf(shown, "Probes").split(" ")[0], title).toBe(String(count("probe")));

    await page.goto(`/tasks/infradev-mini/1.0/${task}`);
    const tables = await readTables(page);
    const sets = tableOf(tables, /^What the reference sets did/);
    for (const submission of raw.graded) {
      const attempt = submission.attempts.find((one) => one.task === task);
      if (!attempt) throw new Error(`${submission.model} has no grading of ${task}`);
      const counts = countsOf(attempt);
      expect(rowOf(sets, submission.model), `${task}, ${submission.model}`).toMatchObject({
        Verdict: counts.verdict,
        Tests: `${counts.passed}/${counts.total}`,
      });
    }
    const rows = [...tableOf(tables, /^Official tests/).rows, ...tableOf(tables, /^Probes/).rows];
    for (const { id } of tests) {
      const passing = raw.graded.filter((submission) =>
        submission.attempts.some(
          (attempt) => attempt.task === task && attempt.tests.some((one) => one.id === id && one.status === "passed"),
        ),
      );
      const [file = "", name = ""] = id.split("::");
      const row = rows.find((one) => cellOf(one, "Test and requirement").startsWith(`${name} ${file} `));
      expect(cellOf(row, "Reference sets that pass"), `${task}, ${id}`).toMatch(
        new RegExp(`^${passing.length} of ${raw.graded.length}`),
      );
    }
  }
});

test("submissions and attempts: each count is that of the outcomes", async ({ page }) => {
  const mutant = raw.graded.find(({ model }) => model.endsWith("mutant-1"));
  const nop = raw.graded.find(({ model }) => model.endsWith("nop"));
  for (const submission of [mutant, nop]) {
    if (!submission) throw new Error("the site under test holds the reference sets mutant-1 and nop");
    await page.goto(`/submissions/${submission.id}`);
    const tables = await readTables(page);
    const sums = sumsOf(submission);
    for (const [title, category] of [
      ["Training", "training"],
      ["Inference", "inference"],
      ["RL", "rl"],
    ] as const) {
      const own = sums.ofCategory(category);
      expect(rowOf(tableOf(tables, /^Resolved by category/), title)).toMatchObject({
        Resolved: `${own.resolved}/${own.tasks}`,
        "%": oneDecimal(own.pct),
      });
    }
    for (const attempt of submission.attempts) {
      const counts = countsOf(attempt);
      expect(rowOf(tableOf(tables, /^Tasks with their verdicts/), attempt.title), attempt.task).toMatchObject({
        Verdict: counts.verdict,
        Tests: `${counts.passed}/${counts.total}`,
      });
    }

    const [attempt] = submission.attempts;
    if (!attempt) throw new Error(`${submission.model} has no gradings`);
    await page.goto(`/submissions/${submission.id}/${attempt.task}`);
    const outcomes = await readTables(page);
    const counts = countsOf(attempt);
    for (const [kind, caption, of] of [
      ["official", /^Official tests/, counts.official],
      ["probe", /^Probes/, counts.probes],
    ] as const) {
      const table = tableOf(outcomes, caption);
      expect(table.caption).toContain(`${of.passed} of ${of.total} required pass`);
      const own = attempt.tests.filter((one) => one.kind === kind);
      expect(table.rows).toHaveLength(own.length);
      for (const one of own) {
        const [file = "", name = ""] = one.id.split("::");
        const row = table.rows.find((candidate) => cellOf(candidate, "Test").startsWith(`${name} ${file} `));
        expect(cellOf(row, "Outcome"), one.id).toContain(one.status.replace("-", " "));
      }
    }
  }
});

test("an entry's page repeats its board's row", async ({ page }) => {
  for (const submission of raw.graded) {
    await page.goto(`/entries/${submission.slug}`);
    const tables = await readTables(page);
    const sums = sumsOf(submission);
    const figures = tableOf(tables, /^Figures with their intervals/);
    const value = (name: string) => rowOf(figures, name)["Value"];
    expect(value("Resolved, %"), submission.model).toBe(share(sums.resolvedPct, sums.resolved, sums.tasks));
    expect(value("Official tests alone, %")).toBe(share(sums.officialPct, sums.official, sums.tasks));
    if (sums.rejectedPct !== null)
      expect(value("Rejected by probes, %")).toBe(share(sums.rejectedPct, sums.rejected, sums.official));
    expect(value("Tests passed, mean, %")).toBe(oneDecimal(sums.passedPct));
    const tasks = tableOf(tables, /^Tasks of/);
    for (const attempt of submission.attempts) {
      const counts = countsOf(attempt);
      expect(rowOf(tasks, attempt.title), attempt.task).toMatchObject({
        Verdict: counts.verdict,
        Tests: `${counts.passed}/${counts.total}`,
      });
    }
  }
});

test("what the probes reject: by set and by property, counted from failing probes", async ({ page }) => {
  await page.goto("/probes?suite=infradev-mini");
  const tables = await readTables(page);
  const sets = tableOf(tables, /^Reference patch sets/);
  for (const submission of raw.graded) {
    const sums = sumsOf(submission);
    const shown = Object.values(rowOf(sets, submission.model.replace("reference: ", "")));
    expect(shown, submission.model).toEqual(
      expect.arrayContaining([
        share(sums.officialPct, sums.official, sums.tasks),
        share(sums.resolvedPct, sums.resolved, sums.tasks),
        share(sums.rejectedPct, sums.rejected, sums.official),
      ]),
    );
  }
  const rejected = raw.graded
    .flatMap(({ attempts }) => attempts)
    .filter((attempt) => countsOf(attempt).officialResolved && !countsOf(attempt).resolved);
  const failing = rejected.map(
    ({ tests }) =>
      new Set(tests.filter((one) => one.required && one.status !== "passed").map(({ property }) => property)),
  );
  const probes = (raw.graded[0]?.attempts ?? []).flatMap(({ task, tests }) =>
    tests.filter((one) => one.required && one.kind === "probe").map(({ property }) => ({ task, property })),
  );
  const byProperty = tableOf(tables, /^Rejected attempts by the property/);
  for (const [name, property] of [
    ["Value", "value"],
    ["Shape, layout, dtype", "shape-layout-dtype"],
    ["State, lifecycle", "state-lifecycle"],
    ["Memory", "resource.memory"],
    ["Speed", "resource.speed"],
    ["Traffic", "resource.traffic"],
    ["Condition", "condition"],
  ] as const) {
    const own = probes.filter((one) => one.property === property);
    const by = failing.filter((properties) => properties.has(property));
    const alone = by.filter((properties) => properties.size === 1).length;
    const [, ...cells] = Object.values(rowOf(byProperty, name));
    expect(cells, name).toEqual([
      String(own.length),
      String(new Set(own.map(({ task }) => task)).size),
      `${by.length} ${alone} by it alone`,
    ]);
  }
});

test("two entries compared: who resolves what, and the exact test of it", async ({ page }) => {
  const [a, b] = ["gold", "mutant-1"].map((name) => raw.graded.find(({ model }) => model === `reference: ${name}`));
  if (!a || !b) throw new Error("the site under test holds the reference sets gold and mutant-1");
  await page.goto(`/compare?suite=infradev-mini&a=${a.slug}&b=${b.slug}`);
  const tables = await readTables(page);
  const pairs = a.attempts.map((attempt) => {
    const other = b.attempts.find(({ task }) => task === attempt.task);
    if (!other) throw new Error(`${b.model} has no grading of ${attempt.task}`);
    return { a: countsOf(attempt), b: countsOf(other) };
  });
  const count = (holds: (pair: (typeof pairs)[number]) => boolean) => pairs.filter(holds).length;
  const who = tableOf(tables, /^Tasks by who resolves them$/);
  expect(Object.values(rowOf(who, "A resolves")).slice(1)).toEqual([
    `${count((pair) => pair.a.resolved && pair.b.resolved)} both`,
    `${count((pair) => pair.a.resolved && !pair.b.resolved)} only A`,
  ]);
  expect(Object.values(rowOf(who, "A does not")).slice(1)).toEqual([
    `${count((pair) => !pair.a.resolved && pair.b.resolved)} only B`,
    `${count((pair) => !pair.a.resolved && !pair.b.resolved)} neither`,
  ]);
  // Two-sided exact McNemar: twice the smaller tail of a fair coin, at most 1.
  const choose = (n: number, k: number): number => (k === 0 ? 1 : (choose(n - 1, k - 1) * n) / k);
  const exact = (won: number, lost: number) => {
    const tail = Array.from({ length: Math.min(won, lost) + 1 }, (_, k) => choose(won + lost, k));
    return Math.min(1, (2 * tail.reduce((sum, ways) => sum + ways, 0)) / 2 ** (won + lost));
  };
  const byTests = tableOf(tables, /^Tasks resolved by official tests alone/);
  for (const [name, of] of [
    ["Official tests alone", "officialResolved"],
    ["Official tests and probes", "resolved"],
  ] as const) {
    const won = count((pair) => pair.a[of] && !pair.b[of]);
    const lost = count((pair) => !pair.a[of] && pair.b[of]);
    expect(Object.values(rowOf(byTests, name)).slice(3), name).toEqual([
      String(won),
      String(lost),
      exact(won, lost).toFixed(3),
    ]);
  }
});
