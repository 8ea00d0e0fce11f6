import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parse as parseToml, TomlError } from "smol-toml";
import type { z } from "zod";
import { InfraDevError, problemFromZod } from "@/lib/contract/errors";
import {
  type InterfaceEntry,
  interfacesFileSchema,
  type Manifest,
  type ManifestTest,
  type SuiteFile,
  suiteFileSchema,
  type TaskMetadata,
  type TestsFile,
  taskMetadataSchema,
  testsFileSchema,
} from "@/lib/contract/task";
import type { PromptCondition } from "@/lib/contract/vocabulary";
import { compareBytes, digestFiles, listFiles, type SourceFile, sha256Hex } from "./files";
import { checkGroups, checkTestId, testFileOf } from "./group-rules";

import { baseLayer, goldOf, mutantPatchOf, type UpstreamSource } from "./upstream/layer-paths";
import { describedElsewhere, officialSources, readUpstream } from "./upstream/read";

export { testFileOf } from "./group-rules";

export type Prompt = { condition: PromptCondition; default: boolean; file: string; text: string; sha256: string };
/** A wrong patch: `number` and `name` come from its file name `<number>-<name>.patch`. */
type Mutant = { number: number; name: string; absPath: string };

/** A task directory as read, sealed or not. */
export type TaskSource = {
  dir: string;
  /** The suite that the directory stands in, or one made up for a task that stands alone. */
  suite: SuiteFile;
  title: string;
  metadata: TaskMetadata;
  testsFile: TestsFile;
  interfaces: InterfaceEntry[];
  prompts: Prompt[];
  /** The code base before the task. Of a task by reference it is there once its sources were provided. */
  baseDir: string;
  /** Where a task by reference takes its code from; null where the base stands beside the task. */
  upstream: UpstreamSource | null;
  /** Paths as in the checkout that they are laid over: `tests/test_x.py`. */
  officialFiles: SourceFile[];
  /** Paths as in test ids: `probes/test_x.py`. */
  probeFiles: SourceFile[];
  goldPath: string;
  mutants: Mutant[];
};

/** A sealed task: its base tree is stated and its tests are those of `tests/files.sha256`. */
export type LoadedTask = TaskSource & { manifest: Manifest };
export type LoadedSuite = { dir: string; file: SuiteFile; tasks: LoadedTask[] };

const invalid = (code: string, message: string, where: string, rule: string, remedy: string): InfraDevError =>
  new InfraDevError("invalid", { code, message, where, rule, remedy });

async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code;
    throw new InfraDevError(
      "not-found",
      {
        code: "task.file-missing",
        message: `${what} cannot be read${reason ? ` (${reason})` : ""}`,
        where: path,
        rule: "a task or suite directory holds every file of its format",
        remedy: `create ${basename(path)}, or name the right directory`,
      },
      { cause },
    );
  }
}

async function readToml(path: string, what: string): Promise<Record<string, unknown>> {
  const text = await readText(path, what);
  try {
    return parseToml(text);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    throw new InfraDevError(
      "invalid",
      {
        code: "task.toml-syntax",
        message: `${what} is not TOML: ${cause.message.split("\n")[0]}`,
        where: `${path}:${cause.line}:${cause.column}`,
        rule: "TOML 1.0",
        remedy: "correct the line named",
      },
      { cause },
    );
  }
}

async function readJson(path: string, what: string): Promise<unknown> {
  const text = await readText(path, what);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "not JSON";
    throw new InfraDevError(
      "invalid",
      {
        code: "task.json-syntax",
        message: `${what} is not JSON: ${reason}`,
        where: path,
        rule: "RFC 8259",
        remedy: "correct the place named",
      },
      { cause },
    );
  }
}

function parseWith<T extends z.ZodType>(
  schema: T,
  value: unknown,
  code: string,
  what: string,
  where: string,
): z.infer<T> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new InfraDevError("invalid", problemFromZod(parsed.error, { code, what, where }));
  return parsed.data;
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() ?? false;
const isFolder = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isDirectory() ?? false;

/** Python packages that the tests of a task directory need beside pytest, as its suite states them. */
export async function packagesOfTask(dir: string): Promise<readonly string[]> {
  const suiteDir = dirname(dirname(resolve(dir)));
  if (!(await isFile(join(suiteDir, "suite.toml")))) return [];
  return (await readSuiteFile(suiteDir)).python_packages ?? [];
}

/** Reads and checks `suite.toml`. */
export async function readSuiteFile(dir: string): Promise<SuiteFile> {
  const path = join(dir, "suite.toml");
  const suite = parseWith(suiteFileSchema, await readToml(path, "the suite file"), "suite.invalid", "suite.toml", path);
  const twice = suite.tasks.find((slug, index) => suite.tasks.indexOf(slug) !== index);
  if (twice !== undefined) {
    throw invalid(
      "suite.duplicate-task",
      `task '${twice}' is listed twice`,
      `${path}#tasks`,
      "each task once",
      "remove one",
    );
  }
  return suite;
}

async function checkTests(task: Omit<TaskSource, "goldPath" | "mutants">): Promise<void> {
  const { testsFile, metadata, baseDir } = task;
  const where = join(task.dir, "tests/tests.json");
  const listed = [...testsFile.FAIL_TO_PASS, ...testsFile.PASS_TO_PASS];
  const twice = listed.find((id, index) => listed.indexOf(id) !== index);
  if (twice !== undefined) {
    throw invalid(
      "task.test-listed-twice",
      `'${twice}' is listed twice`,
      where,
      "each test stands once, in FAIL_TO_PASS or in PASS_TO_PASS",
      "keep one of the two",
    );
  }
  const undescribed = listed.find((id) => testsFile.tests[id] === undefined);
  if (undescribed !== undefined) {
    throw invalid(
      "task.test-undescribed",
      `'${undescribed}' has no entry`,
      `${where}#tests`,
      "each listed test is described in 'tests'",
      "add its entry",
    );
  }
  const groups = new Map(metadata.groups.map((group) => [group.id, group]));
  const kinds = new Map<string, string>();
  const official = new Set(task.officialFiles.map((file) => file.path));
  const probes = new Set(task.probeFiles.map((file) => file.path));
  for (const [id, test] of Object.entries(testsFile.tests)) {
    const at = `${where}#tests.${id}`;
    const file = testFileOf(id);
    if (!listed.includes(id)) {
      throw invalid(
        "task.test-unlisted",
        `'${id}' is described and stands in neither list`,
        at,
        "FAIL_TO_PASS and PASS_TO_PASS hold every test",
        "add it to one of them",
      );
    }
    if ((test.kind === "probe") !== file.startsWith("probes/")) {
      throw invalid(
        "task.test-kind",
        `'${id}' is declared as ${test.kind}`,
        `${at}.kind`,
        "ids of probes, and only these, begin with 'probes/'",
        "correct the kind or the id",
      );
    }
    const inBase = async () => task.upstream === null && (await isFile(join(baseDir, file)));
    const there = test.kind === "probe" ? probes.has(file) : official.has(file) || (await inBase());
    if (!there) {
      throw invalid(
        "task.test-file-missing",
        `'${file}', the file of '${id}', is not there`,
        at,
        task.upstream === null
          ? "probes stand in tests/probes/, official tests in tests/official/ or in the base"
          : "probes stand in tests/probes/, official tests in official_tests of upstream",
        "add the file or correct the id",
      );
    }
    const group = groups.get(test.group);
    if (group === undefined) {
      throw invalid(
        "task.group-unknown",
        `'${id}' names the group '${test.group}'`,
        `${at}.group`,
        "a test's group is declared in task.toml",
        `use one of: ${[...groups.keys()].join(", ")}`,
      );
    }
    checkTestId(id, group, at);
    if (kinds.get(group.id) !== undefined && kinds.get(group.id) !== test.kind) {
      throw invalid(
        "task.group-mixed",
        `group '${group.id}' holds official tests and probes`,
        `${at}.group`,
        "a launch runs tests of one kind",
        "give the probes a group of their own",
      );
    }
    kinds.set(group.id, test.kind);
    const outside = Array.isArray(test.ranks) ? test.ranks.find((rank) => rank >= group.nproc) : undefined;
    if (outside !== undefined || test.needs.ranks > group.nproc) {
      throw invalid(
        "task.ranks",
        `'${id}' needs rank ${outside ?? test.needs.ranks - 1} of a launch with ${group.nproc}`,
        `${at}.ranks`,
        "ranks and needs.ranks lie within the group's nproc",
        "correct the ranks, or the group's nproc",
      );
    }
    if (!test.required && !test.not_required_reason) {
      throw invalid(
        "task.not-required",
        `'${id}' is not required and does not say why`,
        `${at}.not_required_reason`,
        "a test that does not count says why",
        "add not_required_reason",
      );
    }
    if (test.property.startsWith("resource.") && test.limit === undefined) {
      throw invalid(
        "task.limit-missing",
        `'${id}' checks ${test.property} and states no limit`,
        `${at}.limit`,
        "a resource test states its resource, unit and limit",
        "add limit = {resource, unit, value}",
      );
    }
  }
  const unused = metadata.groups.find((group) => !kinds.has(group.id));
  if (unused !== undefined) {
    throw invalid(
      "task.group-unused",
      `group '${unused.id}' has no test`,
      where,
      "each group launches at least one test",
      "remove the group from task.toml",
    );
  }
  for (const entry of task.interfaces) {
    const unknown = entry.used_by.find((id) => testsFile.tests[id] === undefined);
    if (unknown !== undefined) {
      throw invalid(
        "task.interface-user-unknown",
        `'${entry.symbol}' is said to be used by '${unknown}'`,
        join(task.dir, "interfaces.json"),
        "used_by names tests of tests.json",
        "correct the id",
      );
    }
  }
}

async function readPrompts(dir: string, metadata: TaskMetadata, upstream: UpstreamSource | null): Promise<Prompt[]> {
  const where = join(dir, "task.toml");
  const prompts: Prompt[] = [];
  for (const prompt of metadata.prompts) {
    const path = join(dir, prompt.file);
    const bytes = Buffer.from(await readText(path, `the prompt of condition '${prompt.id}'`));
    if (bytes.toString("utf8").trim() === "") {
      throw invalid(
        "task.prompt-empty",
        `the prompt of condition '${prompt.id}' is empty`,
        path,
        "a prompt says what to do",
        "write it",
      );
    }
    if (prompts.some((other) => other.condition === prompt.id)) {
      throw invalid(
        "task.prompt-twice",
        `condition '${prompt.id}' has two prompts`,
        `${where}#metadata.infradev.prompts`,
        "one prompt per condition",
        "remove one",
      );
    }
    prompts.push({
      condition: prompt.id,
      default: prompt.default,
      file: prompt.file,
      text: bytes.toString("utf8"),
      sha256: sha256Hex(bytes),
    });
  }
  if (upstream?.pr_description_sha256 !== undefined) {
    prompts.push({
      condition: "pr-description",
      default: false,
      file: `message of ${upstream.merge_commit}`,
      text: describedElsewhere(upstream),
      sha256: upstream.pr_description_sha256,
    });
  }
  if (prompts.filter((prompt) => prompt.default).length !== 1) {
    throw invalid(
      "task.prompt-default",
      "not exactly one prompt is the default",
      `${where}#metadata.infradev.prompts`,
      "one prompt has default = true",
      "mark the condition that agents get by default",
    );
  }
  return prompts;
}

async function listMutants(dir: string): Promise<Mutant[]> {
  const folder = join(dir, "mutants");
  if (!(await isFolder(folder))) return [];
  const mutants: Mutant[] = [];
  for (const file of await listFiles(folder)) {
    if (!file.endsWith(".patch")) continue;
    const match = /^(\d+)-([a-z0-9-]+)\.patch$/.exec(file);
    if (!match) {
      throw invalid(
        "task.mutant-name",
        `'${file}' is no mutant's file name`,
        join(folder, file),
        "mutants are named <number>-<name>.patch",
        "rename it",
      );
    }
    const number = Number(match[1]);
    if (mutants.some((mutant) => mutant.number === number)) {
      throw invalid(
        "task.mutant-number",
        `two mutants have the number ${number}`,
        join(folder, file),
        "mutants are numbered once each; a number's patches form a reference set over the suite",
        "renumber one",
      );
    }
    mutants.push({ number, name: match[2] ?? "", absPath: join(folder, file) });
  }
  return mutants.sort((a, b) => a.number - b.number);
}

/**
 * Reads a task directory, sealed or not, and checks every file against its schema and the rules between the files.
 * Throws an `InfraDevError` (`task.*`) that names file, field, rule and remedy.
 */
export async function readTask(dir: string): Promise<TaskSource> {
  const root = resolve(dir);
  const where = join(root, "task.toml");
  const toml = await readToml(where, "the task file");
  const harbor = (toml.metadata ?? {}) as Record<string, unknown>;
  const metadata = parseWith(
    taskMetadataSchema,
    harbor.infradev,
    "task.invalid",
    "task.toml, [metadata.infradev]",
    where,
  );
  if (metadata.slug !== basename(root)) {
    throw invalid(
      "task.slug",
      `the slug '${metadata.slug}' differs from the folder's name '${basename(root)}'`,
      `${where}#metadata.infradev.slug`,
      "a task's folder is named by its slug",
      "rename one of them",
    );
  }
  if (typeof harbor.name !== "string" || harbor.name.trim() === "") {
    throw invalid(
      "task.title",
      "the task has no title",
      `${where}#metadata.name`,
      "metadata.name is the task's title",
      "add it",
    );
  }
  const upstream = await readUpstream(root, metadata);
  if (metadata.base_path === undefined && upstream === null) {
    throw invalid(
      "task.base",
      "the task names neither base_path nor upstream",
      `${where}#metadata.infradev`,
      "a code base stands beside its task, or is read from upstream",
      "set base_path to its folder, relative to the task, or add [metadata.infradev.upstream]",
    );
  }
  checkGroups(metadata.groups, where);
  const baseDir = upstream === null ? resolve(root, metadata.base_path ?? "") : baseLayer(metadata.base_tree);
  if (upstream === null && !(await isFolder(baseDir))) {
    throw invalid(
      "task.base-missing",
      `the code base '${metadata.base_path}' is not there`,
      `${where}#metadata.infradev.base_path`,
      "base_path is a folder, relative to the task",
      "correct the path",
    );
  }
  const testsPath = join(root, "tests/tests.json");
  const testsFile = parseWith(
    testsFileSchema,
    await readJson(testsPath, "the test list"),
    "task.tests-invalid",
    "tests.json",
    testsPath,
  );
  const interfacesPath = join(root, "interfaces.json");
  const interfaces = parseWith(
    interfacesFileSchema,
    await readJson(interfacesPath, "the interface list"),
    "task.interfaces-invalid",
    "interfaces.json",
    interfacesPath,
  );
  const officialDir = join(root, "tests/official");
  const probesDir = join(root, "tests/probes");
  const suiteDir = dirname(dirname(root));
  const suite: SuiteFile = (await isFile(join(suiteDir, "suite.toml")))
    ? await readSuiteFile(suiteDir)
    : {
        slug: "local",
        version: "0.0",
        title: "Local tasks",
        summary: "A task outside a suite.",
        probes: "open",
        tasks: [metadata.slug],
      };
  const source = {
    dir: root,
    suite,
    title: harbor.name.trim(),
    metadata,
    testsFile,
    interfaces,
    prompts: await readPrompts(root, metadata, upstream),
    baseDir,
    upstream,
    officialFiles:
      upstream !== null
        ? officialSources(upstream)
        : (await isFolder(officialDir))
          ? await digestFiles(officialDir)
          : [],
    probeFiles: (await isFolder(probesDir)) ? await digestFiles(probesDir, "probes/") : [],
  };
  await checkTests(source);
  if (upstream === null) {
    return { ...source, goldPath: join(root, "solution/gold.patch"), mutants: await listMutants(root) };
  }
  const { changeDir } = upstream;
  const mutants = upstream.mutants.map(({ number, name }) => ({
    number,
    name,
    absPath: mutantPatchOf(changeDir, number, name),
  }));
  return { ...source, goldPath: goldOf(changeDir), mutants };
}

/** `tests/**` but for the list itself, as `sha256sum` lines in byte order: the content of `tests/files.sha256`. */
export async function sumsOfTests(dir: string): Promise<string> {
  const files = await digestFiles(join(dir, "tests"));
  return files
    .filter((file) => file.path !== "files.sha256")
    .map((file) => `${file.sha256}  ${file.path}\n`)
    .join("");
}

/** JSON with sorted keys, so that equal values have equal bytes. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => compareBytes(a, b));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join(",")}}`;
}

function manifestTestsOf(task: TaskSource): ManifestTest[] {
  const failToPass = new Set(task.testsFile.FAIL_TO_PASS);
  const order = [...task.testsFile.FAIL_TO_PASS, ...task.testsFile.PASS_TO_PASS];
  const groupOrder = new Map(task.metadata.groups.map((group, index) => [group.id, index]));
  const tests = order.flatMap((id): ManifestTest[] => {
    const test = task.testsFile.tests[id];
    if (test === undefined) return [];
    return [
      {
        id,
        kind: test.kind,
        expectation: failToPass.has(id) ? "f2p" : "p2p",
        group: test.group,
        property: test.property,
        condition: test.condition ?? null,
        ranks: test.ranks,
        needs: test.needs,
        required: test.required,
        notRequiredReason: test.not_required_reason ?? null,
        requirement: test.requirement ?? null,
        limit:
          test.limit === undefined
            ? null
            : {
                resource: test.limit.resource,
                unit: test.limit.unit,
                value: test.limit.value,
                relativeTo: test.limit.relative_to,
                ...(test.limit.meter === undefined ? {} : { meter: test.limit.meter }),
                ...(test.limit.repeats === undefined ? {} : { repeats: test.limit.repeats }),
              },
      },
    ];
  });
  const rank = (test: ManifestTest) => groupOrder.get(test.group) ?? 0;
  return tests.sort((a, b) => rank(a) - rank(b) || compareBytes(a.id, b.id));
}

const baseCommitOf = ({ base_commit, upstream }: TaskMetadata): string | null =>
  base_commit ?? upstream?.base_commit ?? null;

/**
 * Digest of what decides a verdict: sha256 over `<sha256>  <path>\n` lines in byte order, one for each file of
 * `tests/` (but the two lists derived or described here) and one for `grading.json`, the canonical JSON of base tree,
 * environment, groups, protected paths and tests without their requirement's wording. Prompts, solution, mutants and
 * reports are no part of it.
 */
function gradingDigestOf(task: TaskSource, tests: readonly ManifestTest[], testSums: string): string {
  const { metadata } = task;
  const grading = canonicalJson({
    format: metadata.format,
    slug: metadata.slug,
    repo: metadata.repo,
    baseCommit: baseCommitOf(metadata),
    baseTree: metadata.base_tree,
    envKey: metadata.env_key,
    gpusGrade: metadata.gpus_grade,
    minGpuMemoryMb: metadata.min_gpu_memory_mb,
    protectedPaths: metadata.protected_paths,
    groups: metadata.groups,
    tests: tests.map(({ requirement: _wording, ...test }) => test),
  });
  const lines = testSums
    .split("\n")
    .filter((line) => line !== "" && !line.endsWith("  tests.json"))
    .map((line) => line.replace(/^(\S+) {2}/, "$1  tests/"));
  for (const { path, sha256 } of metadata.upstream?.official_tests ?? []) {
    lines.push(`${sha256}  tests/official/${path}`);
  }
  lines.push(`${sha256Hex(grading)}  grading.json`);
  lines.sort((a, b) => compareBytes(a.slice(66), b.slice(66)));
  return sha256Hex(`${lines.join("\n")}\n`);
}

/**
 * The manifest of a sealed task. Throws `task.unsealed` without a base tree.
 * @param testSums content of `tests/files.sha256`
 */
function manifestOf(task: TaskSource, testSums: string): Manifest {
  const { metadata, suite } = task;
  if (metadata.base_tree === "") {
    throw invalid(
      "task.unsealed",
      `task '${metadata.slug}' is not sealed`,
      `${join(task.dir, "task.toml")}#metadata.infradev.base_tree`,
      "a graded task states the tree of its base",
      `run: runner task seal ${task.dir}`,
    );
  }
  const tests = manifestTestsOf(task);
  return {
    format: "infradev-manifest/1",
    suite: { slug: suite.slug, version: suite.version, probes: suite.probes },
    task: {
      slug: metadata.slug,
      title: task.title,
      repo: metadata.repo,
      category: metadata.category,
      type: metadata.type,
      baseCommit: baseCommitOf(metadata),
      baseTree: metadata.base_tree,
      envKey: metadata.env_key,
      gpusGrade: metadata.gpus_grade,
      protectedPaths: metadata.protected_paths,
    },
    digests: {
      prompts: Object.fromEntries(task.prompts.map((prompt) => [prompt.condition, prompt.sha256])),
      grading: gradingDigestOf(task, tests, testSums),
    },
    groups: metadata.groups,
    tests:
      suite.probes === "hidden"
        ? tests.map((test) =>
            test.kind === "probe" ? { ...test, requirement: null, condition: null, limit: null } : test,
          )
        : tests,
  };
}

/**
 * Reads a sealed task directory. Throws `task.unsealed` where the seal is missing and `task.digest-mismatch` where a
 * file of `tests/` differs from it.
 */
export async function loadTask(dir: string): Promise<LoadedTask> {
  const task = await readTask(dir);
  const path = join(task.dir, "tests/files.sha256");
  if (task.metadata.base_tree === "" || !(await isFile(path))) {
    throw invalid(
      "task.unsealed",
      `task '${task.metadata.slug}' is not sealed`,
      path,
      "a graded task states its base tree and the digests of its tests",
      `run: runner task seal ${task.dir}`,
    );
  }
  const stated = new Set((await readText(path, "the digest list")).split("\n").filter(Boolean));
  const sums = await sumsOfTests(task.dir);
  const actual = new Set(sums.split("\n").filter(Boolean));
  const differing = [...actual].find((line) => !stated.has(line)) ?? [...stated].find((line) => !actual.has(line));
  if (differing !== undefined) {
    throw invalid(
      "task.digest-mismatch",
      `'tests/${differing.slice(66)}' is not the file that was sealed`,
      path,
      "tests/ holds exactly the files of tests/files.sha256",
      `restore the file, or seal the task again: runner task seal ${task.dir}`,
    );
  }
  return { ...task, manifest: manifestOf(task, sums) };
}

/** Reads a suite directory with all its tasks, in `suite.toml`'s order. */
export async function loadSuite(dir: string): Promise<LoadedSuite> {
  const root = resolve(dir);
  const file = await readSuiteFile(root);
  const tasks: LoadedTask[] = [];
  for (const slug of file.tasks) tasks.push(await loadTask(join(root, "tasks", slug)));
  return { dir: root, file, tasks };
}
