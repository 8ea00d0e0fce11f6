import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { InfraDevError } from "@/lib/contract/errors";
import type { Group, InterfaceEntry } from "@/lib/contract/task";
import { environment } from "../environment";
import { capture } from "../processes/capture";
import { processOwner } from "../processes/owner";
import { pythonSource } from "../python/sources";
import { applyPatch, copyBase, layOver } from "./checkout";
import { gitTreeOid, listFiles } from "./files";
import { findLimitFaults } from "./limit-lint";
import { loadTask, type Prompt, readTask, type TaskSource, testFileOf } from "./load";
import { addedLines, findLeaks, hasWord, type LeakReport } from "./prompt-lint";
import { descriptionOf } from "./upstream/layer-paths";
import type { Mirrors } from "./upstream/mirrors";
import { provideSources } from "./upstream/sources";

type CheckRule = "sources" | "symbols" | "solution" | "ids" | "digests" | "official" | "patches" | "probes" | "limits";
/** An error refuses the task; a warning is for its author to judge. */
type Finding = { rule: CheckRule; level: "error" | "warning"; message: string; where: string; remedy: string };
export type CheckReport = {
  task: string;
  ok: boolean;
  findings: Finding[];
  facts: {
    probeSymbols: number;
    statedInterfaces: number;
    promptOverlap: LeakReport["overlap"];
    collectedIds: number;
    patches: number;
  };
};

const useSchema = z.object({
  symbol: z.string(),
  spelled: z.string(),
  status: z.enum(["absent", "signature", "body", "same", "unknown"]),
  kind: z.string(),
  tests: z.array(z.string()),
  file: z.string(),
  line: z.int(),
});
const placeSchema = z.object({ name: z.string(), tests: z.array(z.string()), file: z.string(), line: z.int() });
const probeSymbolsSchema = z.object({
  uses: z.array(useSchema),
  attributes: z.array(placeSchema),
  keywords: z.array(placeSchema.extend({ symbol: z.string().nullable() })),
  goldNew: z.array(z.string()),
  goldProse: z.record(z.string(), z.array(z.int())),
});
type ProbeSymbols = z.infer<typeof probeSymbolsSchema>;

/** Reads what the probes use of the repository from their syntax trees; nothing of the task is imported or run. */
async function readProbeSymbols(
  python: string,
  baseDir: string,
  goldDir: string,
  probes: readonly { path: string; absPath: string }[],
): Promise<ProbeSymbols> {
  const files = probes.filter((file) => file.path.endsWith(".py")).map(({ path, absPath }) => ({ path, absPath }));
  const run = await capture(python, ["-I", "-c", pythonSource("probe_symbols.py")], {
    input: JSON.stringify({ base: baseDir, gold: goldDir, probes: files }),
    timeoutMs: 300_000,
  });
  if (run.code !== 0) {
    const last = run.stderr.trim().split("\n").at(-1) ?? "";
    throw new InfraDevError("invalid", {
      code: "task.python-syntax",
      message: `the syntax trees cannot be read: ${last}`,
      where: /File "([^"]+)", line (\d+)/.exec(run.stderr)?.slice(1).join(":") ?? baseDir,
      rule: "probes, base and gold are Python that this host's interpreter parses",
      remedy: "correct the file named",
    });
  }
  return probeSymbolsSchema.parse(JSON.parse(run.stdout));
}

const lastPart = (dotted: string): string => dotted.slice(dotted.lastIndexOf(".") + 1);

function isStated(interfaces: readonly InterfaceEntry[], ...names: string[]): boolean {
  return names.some((name) => {
    const owner = name.slice(0, Math.max(0, name.lastIndexOf(".")));
    return interfaces.some(
      (entry) =>
        entry.symbol === name ||
        entry.symbol.startsWith(`${name}.`) ||
        (entry.symbol === owner && hasWord(entry.signature, lastPart(name))),
    );
  });
}

const namesModule = (prompt: string, dotted: string): boolean =>
  prompt.includes(dotted) || prompt.includes(dotted.replaceAll(".", "/"));

function checkSymbols(task: TaskSource, prompt: Prompt, symbols: ProbeSymbols): Finding[] {
  const findings: Finding[] = [];
  const add = (message: string, where: string, remedy: string, level: Finding["level"] = "error") =>
    findings.push({ rule: "symbols", level, message, where, remedy });
  const why = { absent: "the base lacks it", signature: "gold changes its signature", body: "gold changes it" };
  for (const use of symbols.uses) {
    const where = `tests/${use.file}:${use.line}`;
    if (use.status === "unknown") {
      const message = `the probes use '${use.symbol}', which neither base nor gold defines in a way the lint can see`;
      add(message, where, "check the spelling; a name made at run time stands in interfaces.json", "warning");
      continue;
    }
    if (use.status === "same" || (use.status === "body" && /\.__\w+__$/.test(use.symbol))) continue;
    const what = `the probes use '${use.symbol}' (${why[use.status]})`;
    if (!isStated(task.interfaces, use.symbol, use.spelled)) {
      add(
        `${what}, and interfaces.json does not state it`,
        where,
        `add an entry for '${use.symbol}' to interfaces.json`,
      );
    }
    const isModule = use.kind === "module";
    const inPrompt = isModule ? namesModule(prompt.text, use.symbol) : hasWord(prompt.text, lastPart(use.symbol));
    if (!inPrompt) {
      const remedy = `state '${lastPart(use.symbol)}' and what it must do in ${prompt.file}`;
      add(`${what}, and the default prompt does not name it`, where, remedy);
    } else if (!isModule && use.status === "absent" && (use.kind === "function" || use.kind === "class")) {
      const modules = [use.symbol, use.spelled].map((name) => name.slice(0, name.lastIndexOf(".")));
      if (!modules.some((module) => namesModule(prompt.text, module))) {
        const message = `${what}, and the default prompt does not say in which module it stands`;
        add(message, where, `name the module '${modules[0]}' in ${prompt.file}`);
      }
    }
  }
  for (const attribute of symbols.attributes) {
    const where = `tests/${attribute.file}:${attribute.line}`;
    const stated = task.interfaces.some(
      (entry) => lastPart(entry.symbol) === attribute.name || hasWord(entry.signature, attribute.name),
    );
    const what = `the probes read '.${attribute.name}', a member that gold brings in`;
    if (!stated) add(`${what}, and interfaces.json does not state it`, where, "add an entry for the member");
    if (!hasWord(prompt.text, attribute.name)) {
      add(`${what}, and the default prompt does not name it`, where, `state it in ${prompt.file}`);
    }
  }
  for (const keyword of symbols.keywords) {
    const where = `tests/${keyword.file}:${keyword.line}`;
    const of = keyword.symbol === null ? "" : ` of '${keyword.symbol}'`;
    const what = `the probes pass the argument '${keyword.name}'${of}, which the base does not take`;
    if (!task.interfaces.some((entry) => hasWord(entry.signature, keyword.name))) {
      add(`${what}, and no signature in interfaces.json has it`, where, "state it in the symbol's signature");
    }
    if (!hasWord(prompt.text, keyword.name)) {
      add(`${what}, and the default prompt does not name it`, where, `state it in ${prompt.file}`);
    }
  }
  for (const entry of task.interfaces) {
    const use = symbols.uses.find((each) => each.symbol === entry.symbol || each.spelled === entry.symbol);
    const probes = use?.tests.filter((id) => id.startsWith("probes/")) ?? [];
    const users = new Set(entry.used_by.map((id) => id.replace(/\[.*$/, "")));
    const missing = probes.filter((id) => !users.has(id));
    if (missing.length > 0) {
      const message = `used_by of '${entry.symbol}' leaves out ${missing.map((id) => `'${id}'`).join(", ")}`;
      add(message, "interfaces.json", "complete used_by", "warning");
    }
  }
  return findings;
}

function checkSolution(task: TaskSource, prompt: Prompt, gold: string, symbols: ProbeSymbols, baseText: string) {
  const code = addedLines(gold).filter(
    (line) => line.file.endsWith(".py") && !symbols.goldProse[line.file]?.includes(line.line),
  );
  const goldNew = new Set(symbols.goldNew);
  const toFindings = (
    text: string,
    file: string,
    level: Finding["level"],
  ): { report: LeakReport; findings: Finding[] } => {
    const report = findLeaks(text, code, goldNew, task.interfaces, baseText);
    const findings = report.leaks.map((leak): Finding => {
      const what = {
        line: `the line '${leak.text}' of gold (${leak.source}) stands in the prompt`,
        identifier: `the prompt names '${leak.text}', which gold brings in new (${leak.source}) and interfaces.json does not state`,
        overlap: `the prompt shares the sequence '${leak.text}' with gold (${leak.source})`,
      };
      return {
        rule: "solution",
        level,
        message: what[leak.kind],
        where: `${file}:${leak.promptLine}`,
        remedy: "say what must hold, not how; or state it as an interface that the probes need",
      };
    });
    return { report, findings };
  };
  const main = toFindings(prompt.text, prompt.file, "error");
  const others = task.prompts.filter((other) => other !== prompt);
  return {
    overlap: main.report.overlap,
    findings: [...main.findings, ...others.flatMap((other) => toFindings(other.text, other.file, "warning").findings)],
  };
}

/** The plugin and what it imports. */
const pluginFiles = ["infradev_report.py", "infradev_exceptions.py", "infradev_children.py", "infradev_meter_guard.py"];

/** Ids that pytest collects for a group on one rank, in a checkout with gold, official tests and probes in place. */
async function collectIds(
  python: string,
  checkout: string,
  pluginDir: string,
  group: Group,
  rank: number,
  files: readonly string[],
): Promise<{ ids: string[]; complaint: string | null }> {
  const args = ["-B", "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "infradev_report"];
  args.push("-c", join(pluginDir, "pytest.ini"), "--rootdir", checkout);
  if (group.conftest_root !== undefined) args.push(`--confcutdir=${join(checkout, group.conftest_root)}`);
  const run = await capture(python, [...args, ...files], {
    cwd: checkout,
    env: {
      PATH: environment.path,
      HOME: pluginDir,
      PYTHONPATH: `${checkout}:${pluginDir}`,
      ...group.env,
      PYTHONHASHSEED: "0",
      PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1",
      RANK: String(rank),
      LOCAL_RANK: String(rank),
      WORLD_SIZE: String(group.nproc),
      MASTER_ADDR: "127.0.0.1",
      MASTER_PORT: "1",
    },
    timeoutMs: Math.max(60, group.test_timeout_sec) * 1000,
  });
  const ids = run.stdout.split("\n").filter((line) => /^\S+\.py::/.test(line));
  if (run.code === 0 || run.code === 5) return { ids, complaint: null };
  const errors = `${run.stdout}\n${run.stderr}`.split("\n").filter((line) => /^E {2}|Error|error/.test(line));
  return { ids, complaint: errors.slice(0, 3).join(" / ").trim() || `pytest ended with ${run.code}` };
}

async function checkIds(task: TaskSource, python: string, checkout: string, pluginDir: string) {
  const findings: Finding[] = [];
  const own = new Set([...task.officialFiles, ...task.probeFiles].map((file) => file.path));
  const everywhere = new Set<string>();
  for (const group of task.metadata.groups) {
    const listed = Object.entries(task.testsFile.tests).flatMap(([id, test]) => (test.group === group.id ? [id] : []));
    // A program is its own id: that its file is there was checked when the task was read.
    if (group.launcher === "script") continue;
    const files = [...new Set(listed.map(testFileOf))];
    const ranks = Array.from({ length: group.nproc }, (_, rank) => rank);
    for (const rank of ranks) {
      const { ids, complaint } = await collectIds(python, checkout, pluginDir, group, rank, files);
      const where = `group '${group.id}', rank ${rank}`;
      if (complaint !== null) {
        const message = `collection fails: ${complaint}`;
        findings.push({
          rule: "ids",
          level: "error",
          message,
          where,
          remedy: "make the files collect with gold applied",
        });
      }
      const collected = new Set(ids);
      for (const id of collected) everywhere.add(id);
      for (const id of listed.filter((each) => !collected.has(each))) {
        const message = `'${id}' stands in tests.json and is not collected`;
        findings.push({ rule: "ids", level: "error", message, where, remedy: "correct the id, or add the test" });
      }
      for (const id of ids.filter((each) => own.has(testFileOf(each)) && task.testsFile.tests[each] === undefined)) {
        const message = `'${id}' is collected and does not stand in tests.json`;
        findings.push({ rule: "ids", level: "error", message, where, remedy: "list the test, or remove it" });
      }
      if (findings.some((finding) => finding.where === where)) break;
    }
  }
  return { findings, collected: everywhere.size };
}

async function checkDigests(task: TaskSource): Promise<Finding[]> {
  const findings: Finding[] = [];
  const baseTree = await gitTreeOid(task.baseDir);
  const remedy = `run: runner task seal ${task.dir}`;
  if (task.metadata.base_tree !== baseTree) {
    const stated = task.metadata.base_tree === "" ? "no tree" : task.metadata.base_tree;
    const message = `task.toml states ${stated}, and the base has ${baseTree}`;
    findings.push({ rule: "digests", level: "error", message, where: "task.toml#metadata.infradev.base_tree", remedy });
  }
  await loadTask(task.dir).catch((error: unknown) => {
    if (!(error instanceof InfraDevError)) throw error;
    if (error.code === "task.unsealed" && findings.length > 0) return;
    findings.push({ rule: "digests", level: "error", message: error.message, where: "tests/files.sha256", remedy });
  });
  return findings;
}

function checkLimits(task: TaskSource): Finding[] {
  return findLimitFaults(task.testsFile, task.metadata.groups).map(({ id, message, remedy }) => ({
    rule: "limits",
    level: "error",
    message,
    where: `tests/tests.json#tests[${id}].limit`,
    remedy,
  }));
}

function checkOfficial(task: TaskSource): Finding[] {
  const isProtected = (path: string) =>
    task.metadata.protected_paths.some((each) => (each.endsWith("/") ? path.startsWith(each) : path === each));
  return task.officialFiles
    .filter((file) => !isProtected(file.path))
    .map((file) => ({
      rule: "official" as const,
      level: "error" as const,
      message: `the official file '${file.path}' is not protected, so a candidate's own version could replace it`,
      where: "task.toml#metadata.infradev.protected_paths",
      remedy: `add '${file.path}' or its folder to protected_paths`,
    }));
}

function checkProbes(task: TaskSource): Finding[] {
  const probes = Object.values(task.testsFile.tests).filter((test) => test.kind === "probe");
  const properties = new Set(probes.map((test) => test.property));
  const warn = (message: string): Finding => ({
    rule: "probes",
    level: "warning",
    message,
    where: "tests/tests.json",
    remedy: "add probes for requirements that the official tests leave unchecked",
  });
  const findings: Finding[] = [];
  if (probes.length === 0) findings.push(warn("the task has no probe"));
  else if (properties.size < 2) findings.push(warn(`all probes check one property: ${[...properties].join()}`));
  const silent = Object.entries(task.testsFile.tests).find(([, test]) => test.kind === "probe" && !test.requirement);
  if (silent) findings.push(warn(`'${silent[0]}' does not say which requirement it enforces`));
  return findings;
}

/** The prompts in the words that an agent gets: of one that is upstream's own text, that text. */
async function promptsAsGiven({ prompts, upstream }: TaskSource): Promise<Prompt[]> {
  if (upstream?.pr_description_sha256 === undefined) return prompts;
  const text = await readFile(descriptionOf(upstream.changeDir), "utf8");
  return prompts.map((each) => (each.condition === "pr-description" ? { ...each, text } : each));
}

const reportOf = (task: TaskSource, findings: Finding[], facts: Partial<CheckReport["facts"]>): CheckReport => ({
  task: task.metadata.slug,
  ok: findings.every((finding) => finding.level !== "error"),
  findings,
  facts: {
    probeSymbols: 0,
    statedInterfaces: task.interfaces.length,
    promptOverlap: { shared: 0, total: 0, share: 0 },
    collectedIds: 0,
    patches: 0,
    ...facts,
  },
});

/** What can be linted of a task by reference where its sources are not at hand; that the rest was not is a finding. */
async function checkWithoutSources(task: TaskSource, cause: InfraDevError): Promise<CheckReport> {
  const { message, where = task.dir, remedy = "give a mirror" } = cause.problem;
  const absent = cause.code === "upstream.no-mirror";
  const findings: Finding[] = [
    {
      rule: "sources",
      level: absent ? "warning" : "error",
      message: absent ? `${message}: symbols, give-aways, ids and patches were not looked at` : message,
      where,
      remedy,
    },
  ];
  const sealed = await loadTask(task.dir).catch((error: unknown) => error);
  if (sealed instanceof InfraDevError) {
    const remedySeal = `run: runner task seal ${task.dir}`;
    findings.push({ rule: "digests", level: "error", message: sealed.message, where: task.dir, remedy: remedySeal });
  }
  findings.push(...checkOfficial(task), ...checkProbes(task), ...checkLimits(task));
  return reportOf(task, findings, {});
}

/**
 * The lint of a task directory: symbols against prompt and interfaces, what the prompt gives away, collected ids,
 * digests, official files, and whether gold and every mutant apply.
 * @param options.python interpreter with pytest
 * @param options.mirrors where a task by reference reads its sources; without them it is linted as far as that goes
 */
export async function checkTask(dir: string, options: { python: string; mirrors?: Mirrors }): Promise<CheckReport> {
  let task = await readTask(dir);
  const missing = await provideSources(task, options.mirrors).catch((error: unknown) => error);
  if (missing instanceof InfraDevError && missing.code.startsWith("upstream.")) {
    return await checkWithoutSources(task, missing);
  }
  if (missing !== undefined) throw missing;
  task = { ...task, prompts: await promptsAsGiven(task) };
  const prompt = task.prompts.find((each) => each.default) ?? task.prompts[0];
  if (prompt === undefined) throw new Error("a read task has a default prompt");
  const work = await mkdtemp(join(tmpdir(), `infradev-check-${processOwner}-`));
  try {
    const findings: Finding[] = [];
    const goldDir = join(work, "gold");
    await mkdir(goldDir);
    await copyBase(task.baseDir, goldDir);
    const patches = [{ name: "gold", absPath: task.goldPath }, ...task.mutants];
    const sources = await Promise.all(patches.map((patch) => readFile(patch.absPath, "utf8").catch(() => null)));
    const gold = sources[0] ?? null;
    for (const [index, patch] of patches.entries()) {
      const where =
        index === 0 ? "solution/gold.patch" : `mutants/${task.mutants[index - 1]?.number}-${patch.name}.patch`;
      const add = (message: string, remedy: string) =>
        findings.push({ rule: "patches", level: "error", message, where, remedy });
      const text = sources[index] ?? null;
      if (text === null) {
        add("the patch is not there", "write it");
        continue;
      }
      const target = index === 0 ? goldDir : join(work, "mutant");
      if (index > 0) {
        await mkdir(target);
        await copyBase(task.baseDir, target);
      }
      const complaint = await applyPatch(target, patch.absPath);
      if (complaint !== null) add(`the patch does not apply to the base: ${complaint}`, "make it anew with git diff");
      const touched = [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map((match) => match[1] ?? "");
      const guarded = touched.find((path) =>
        task.metadata.protected_paths.some((each) => (each.endsWith("/") ? path.startsWith(each) : path === each)),
      );
      if (guarded) add(`the patch touches '${guarded}', which grading restores`, "leave protected paths out of it");
      if (index > 0) await rm(target, { recursive: true });
    }
    if (task.mutants.length < 1) {
      const message = "the task has no mutant: nothing shows that its probes reject what the official tests accept";
      findings.push({ rule: "patches", level: "error", message, where: "mutants/", remedy: "add wrong patches" });
    }
    let overlap: LeakReport["overlap"] = { shared: 0, total: 0, share: 0 };
    let collectedIds = 0;
    let probeSymbols = 0;
    const goldApplies = gold !== null && !findings.some((finding) => finding.where === "solution/gold.patch");
    if (goldApplies) {
      const symbols = await readProbeSymbols(options.python, task.baseDir, goldDir, task.probeFiles);
      probeSymbols = symbols.uses.length;
      findings.push(...checkSymbols(task, prompt, symbols));
      const baseFiles = (await listFiles(task.baseDir)).filter((path) => path.endsWith(".py"));
      const texts = await Promise.all(baseFiles.map((path) => readFile(join(task.baseDir, path), "utf8")));
      const solution = checkSolution(task, prompt, gold, symbols, texts.join("\n"));
      overlap = solution.overlap;
      findings.push(...solution.findings);
      await layOver([...task.officialFiles, ...task.probeFiles], goldDir);
      const pluginDir = join(work, "plugin");
      await mkdir(pluginDir);
      for (const name of pluginFiles) await writeFile(join(pluginDir, name), pythonSource(name));
      await writeFile(join(pluginDir, "pytest.ini"), "[pytest]\n");
      const ids = await checkIds(task, options.python, goldDir, pluginDir);
      collectedIds = ids.collected;
      findings.push(...ids.findings);
    }
    findings.push(...(await checkDigests(task)), ...checkOfficial(task), ...checkProbes(task), ...checkLimits(task));
    return reportOf(task, findings, { probeSymbols, promptOverlap: overlap, collectedIds, patches: patches.length });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
