import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Candidate, candidateSchema } from "@/lib/contract/bundle";
import { InfraDevError, problemFromZod } from "@/lib/contract/errors";
import type { Result } from "@/lib/contract/result";
import { readGivenFile } from "../given-file";
import { acquireForTask, type GpuChoice } from "../gpus/for-task";
import { GpuPool } from "../gpus/pool";
import { describeQuarantine } from "../gpus/quarantine";
import { describeProgress, gradeToBundle, type RunnerExecutor, runnerExecutors } from "../grade-to-bundle";
import { startGuardian } from "../grading/guardian";
import { ensurePython } from "../grading/python-runtime";
import { maxPatchBytes } from "../grading/refusals";
import { processOwner } from "../processes/owner";
import { loadSigningKey, publicKeyPath } from "../signing-key";
import { type LoadedTask, loadTask } from "../suites/load";
import { readReferencePatch } from "../suites/reference";
import { provideSources } from "../suites/upstream/sources";
import { exitCodes, formatBytes, formatElapsed, formatTable, type Output, visible } from "../terminal/output";
import { checkTrajectory } from "../trajectory";
import { defaultDataDir } from "./doctor";
import { locateTask } from "./locate";
import { mirrorOption, mirrorsOf } from "./mirror-option";
import { ensureOutputFolder } from "./output-folder";
import { runCommand } from "./run-command";

type GradeOptions = {
  patch?: string;
  reference?: string;
  suite?: string;
  executor: RunnerExecutor;
  gpus: GpuChoice;
  out: string;
  key: string;
  candidate?: string;
  trajectory?: string;
  mirror?: string[];
  json?: boolean;
};

/** `--executor`, the same for every command that grades. */
export const executorOption = (): Option =>
  new Option("--executor <name>", "bwrap: sandbox without network; process: no isolation, for development")
    .choices([...runnerExecutors])
    .default("bwrap");

const gpuChoice = (text: string): GpuChoice => {
  const count = Number(text);
  if (text === "auto") return "auto";
  if (text.trim() !== "" && Number.isInteger(count) && count >= 0) return count;
  throw new InvalidArgumentError("expected a whole number from 0 on, or auto");
};

/** More than anybody tells of a candidate. */
const maxCandidateBytes = 1024 * 1024;

/** A misspelled field must not turn into a default that is then signed. */
const givenCandidateSchema = candidateSchema
  .extend({
    budget: candidateSchema.shape.budget.strict(),
    skill: candidateSchema.shape.skill.unwrap().strict().nullable(),
  })
  .strict();

/** The candidate that `--candidate` describes (JSON, or @file), what it leaves out filled in. */
export async function parseCandidate(
  text: string | undefined,
  reference: string | undefined,
  task: Pick<LoadedTask, "prompts">,
  signal: AbortSignal,
): Promise<Candidate> {
  const remedy = `give JSON such as '{"model": "...", "agent": "...", "networkPolicy": "none"}', or @file`;
  const use = { option: "--candidate", code: "usage.candidate", maxBytes: maxCandidateBytes, remedy, signal };
  const source = text?.startsWith("@") ? (await readGivenFile(text.slice(1), use)).toString() : (text ?? "{}");
  let given: unknown;
  try {
    given = JSON.parse(source);
  } catch (cause) {
    const problem = { code: "usage.candidate", message: "the candidate is not JSON", where: "--candidate", remedy };
    throw new InfraDevError("invalid", problem, { cause });
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const problem = {
      code: "usage.candidate",
      message: "the candidate is no JSON object",
      where: "--candidate",
      remedy,
    };
    throw new InfraDevError("invalid", problem);
  }
  // Nobody was at work on a reference; what else is not told of a model is not stated, whatever patch is graded for it.
  const { kind = reference === undefined ? "model" : "reference" } = given as { kind?: unknown };
  const defaults = {
    kind,
    model: (kind === "reference" ? reference : undefined) ?? "not stated",
    agent: null,
    agentVersion: null,
    reasoningEffort: null,
    promptCondition: task.prompts.find((prompt) => prompt.default)?.condition ?? "interface",
    skill: null,
    networkPolicy: kind === "reference" ? "none" : "not-stated",
    budget: { timeMin: null, costUsd: null, tokensM: null, steps: null },
  };
  const filled: Record<string, unknown> = { promptDigest: null, ...defaults, ...given };
  if (typeof filled.budget === "object" && filled.budget !== null && !Array.isArray(filled.budget)) {
    filled.budget = { ...defaults.budget, ...filled.budget };
  }
  const parsed = givenCandidateSchema.safeParse(filled);
  if (!parsed.success) {
    const subject = { code: "usage.candidate", what: "the candidate", where: "--candidate", remedy };
    throw new InfraDevError("invalid", problemFromZod(parsed.error, subject));
  }
  if (parsed.data.promptDigest !== null || parsed.data.kind === "reference") return parsed.data;
  const prompt = task.prompts.find((each) => each.condition === parsed.data.promptCondition);
  return { ...parsed.data, promptDigest: prompt?.sha256 ?? null };
}

/** Prints a result as a person reads it: outcomes, reason, verdict. */
export function showResult(output: Output, result: Result): void {
  const paint = { passed: "green", skipped: "yellow", "not-run": "yellow" } as const;
  const rows = result.tests.map((test) => {
    const status = output.paint(paint[test.status as keyof typeof paint] ?? "red", test.status);
    const ranks = test.ranks.filter((rank) => rank.status === "passed").length;
    const root = test.ranks.find((rank) => rank.rank === test.rootRank)?.failure;
    const message = root
      ? `rank ${test.rootRank}: ${root.exceptionType ?? root.phase}: ${root.message.split("\n")[0]}`
      : "";
    return [status, test.id, test.expectation, `${ranks}/${test.ranks.length}`, visible(message).slice(0, 90)];
  });
  output.line();
  output.line(formatTable(["outcome", "test", "expects", "ranks", "first failure"], rows));
  output.line();
  const { summary } = result;
  if (result.reason !== null) {
    output.line(`${output.paint("red", result.status)}: ${result.reason.message} [${result.reason.code}]`);
    for (const line of result.reason.evidence) output.line(`  ${visible(line)}`);
  }
  const verdict = summary.resolved ? output.paint("green", "resolved") : output.paint("red", "not resolved");
  const official = `official ${summary.officialPassed}/${summary.officialTotal}`;
  output.line(
    `${verdict}: ${summary.requiredPassed}/${summary.requiredTotal} required tests pass (${official}), ` +
      `${formatElapsed(result.durationMs)}${result.sandboxed ? "" : `, ${output.paint("yellow", "not sandboxed")}`}`,
  );
}

/** `runner grade`: exit 0 where the patch resolves the task, 1 where not, 2 where no grading could be made. */
export function registerGrade(program: Command): void {
  program
    .command("grade <task>")
    .description("grade a patch on this machine, without a server, and write the signed bundle")
    .option("--patch <file>", "the patch, in git's form")
    .option("--reference <name>", "grade one of the task's own patches instead: gold, nop, mutant-<n>")
    .option("--suite <dir>", "suite that the task is of, where it is named by its slug")
    .addOption(executorOption())
    .option("--gpus <n>", "GPUs of the launches; auto: as many as are free and the task asks for", gpuChoice, "auto")
    .option("--out <dir>", "where the bundle goes", ".data/gradings")
    .option("--key <file>", "key that signs (made where there is none)", join(defaultDataDir, "key.pem"))
    .addOption(mirrorOption())
    .option("--candidate <json>", "who made the patch: JSON or @file")
    .option("--trajectory <file>", "what the agent did (ATIF); goes into the bundle without secrets")
    .option("--json", "one JSON document on stdout")
    .action((name: string, options: GradeOptions) =>
      runCommand(options, async (output, signal) => {
        if ((options.patch === undefined) === (options.reference === undefined)) {
          throw new InfraDevError("invalid", {
            code: "usage.patch",
            message: "give either --patch or --reference",
            where: "--patch",
            rule: "one patch is graded",
            remedy: "runner grade <task> --patch FILE",
          });
        }
        const task = await loadTask(locateTask(name, options.suite));
        await provideSources(task, mirrorsOf(options));
        const patch =
          options.patch === undefined
            ? await readReferencePatch(task, options.reference ?? "")
            : await readGivenFile(options.patch, {
                option: "--patch",
                code: "usage.patch",
                maxBytes: maxPatchBytes,
                remedy: "name the file that git diff was written to",
                signal,
              });
        const candidate = await parseCandidate(options.candidate, options.reference, task, signal);
        const trajectory = options.trajectory === undefined ? null : resolve(options.trajectory);
        if (trajectory !== null) {
          const { agent, agentSteps, toolCalls, startedAt } = await checkTrajectory(trajectory);
          const clock = startedAt === null ? "; no duration: times are missing, or go back by more than a minute" : "";
          output.line(`trajectory: ${visible(agent)}, ${agentSteps} turns, ${toolCalls} tool calls${clock}`);
        }
        const folder = await ensureOutputFolder(options.out);
        const python = await ensurePython({
          packages: task.suite.python_packages,
          onProgress: (text) => output.status(text),
        });
        const signer = await loadSigningKey(resolve(options.key));
        const gradingId = randomUUID();
        const out = join(folder, `${gradingId}.infradev.tar.gz`);
        const workDir = await mkdtemp(join(tmpdir(), `infradev-grade-${processOwner}-`));
        const guardian = startGuardian([workDir]);
        const startedMs = performance.now();
        let latest = "starting";
        const show = (): void =>
          output.live(`${task.metadata.slug}  ${formatElapsed(performance.now() - startedMs)}  ${latest}`);
        const pool = new GpuPool({
          what: `grading ${gradingId}`,
          onEvent: (event) => output.status(describeQuarantine(event)),
          onWait: (text) => output.status(text),
        });
        const { grant, profile } = await acquireForTask(pool, task, options.gpus, signal);
        if (profile !== null) output.line(profile);
        const ticker = setInterval(show, 200);
        try {
          const { result, bundle, redactedTexts } = await gradeToBundle({
            task,
            patch,
            candidate,
            trajectory,
            gradingId,
            attemptId: null,
            lease: null,
            executor: options.executor,
            gpus: grant,
            python,
            signer,
            workDir,
            out,
            signal,
            onProgress: (event) => {
              const text = describeProgress(event);
              if (text === null) return;
              latest = text;
              if (output.isLive) show();
              else output.status(`${task.metadata.slug}: ${text}`);
            },
          });
          clearInterval(ticker);
          if (redactedTexts > 0)
            output.line(
              `trajectory: what looks like a secret was taken out of ${redactedTexts} texts; look at what is left`,
            );
          showResult(output, result);
          output.line(`bundle: ${bundle.path} (${formatBytes(bundle.bytes)}, sha256 ${bundle.sha256})`);
          output.line(
            `verify it: npm run runner -- verify "${bundle.path}" --keys "${publicKeyPath(resolve(options.key))}"`,
          );
          output.result({ result, bundle: { path: bundle.path, sha256: bundle.sha256, bytes: bundle.bytes } });
          if (signal.aborted) throw signal.reason;
          if (result.status === "infra") return exitCodes.misuse;
          return result.summary.resolved ? exitCodes.ok : exitCodes.failed;
        } finally {
          clearInterval(ticker);
          await grant?.release();
          await guardian.release();
        }
      }),
    );
}
