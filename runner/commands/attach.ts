import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { InfraDevError } from "@/lib/contract/errors";
import type { Result } from "@/lib/contract/result";
import { ensureRegistered, type ServeOptions, serveJobs } from "../attach/attach";
import { GpuOffer } from "../attach/gpu-offer";
import type { GradeJob, JobEnd } from "../attach/job";
import { parseServerUrl, ServerApi } from "../attach/server-api";
import { RunnerData } from "../attach/state";
import { checkBwrap } from "../executors/bwrap";
import { GpuPool } from "../gpus/pool";
import { describeQuarantine } from "../gpus/quarantine";
import { describeProgress, gradeToBundle, type RunnerExecutor } from "../grade-to-bundle";
import { collectHostFacts } from "../grading/host";
import { ensurePython, type PythonRuntime } from "../grading/python-runtime";
import { type LoadedTask, loadSuite } from "../suites/load";
import type { Mirrors } from "../suites/upstream/mirrors";
import { provideSources } from "../suites/upstream/sources";
import { exitCodes, formatElapsed, formatTable } from "../terminal/output";
import { atServer } from "../terminal/unreachable";
import { defaultDataDir } from "./doctor";
import { executorOption } from "./grade";
import { locateSuite } from "./locate";
import { mirrorOption, mirrorsOf } from "./mirror-option";
import { runCommand } from "./run-command";

type AttachOptions = {
  server: string;
  token?: string;
  once?: boolean;
  drain?: boolean;
  name: string;
  data: string;
  suite?: string[];
  mirror?: string[];
  executor: RunnerExecutor;
  parallel: number;
  ranks: number;
  json?: boolean;
};

const positive = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("expected a whole number from 1 on");
  return value;
};
const collected = (value: string, earlier: string[] | undefined): string[] => [...(earlier ?? []), value];

const delivered: ReadonlySet<JobEnd["verdict"]> = new Set(["accepted", "late", "recorded", "requeued"]);

/**
 * `runner attach`: exit 0 where every job that was taken was delivered, 1 where one was refused or stays undelivered,
 * 2 where the host cannot register or grade.
 */
export function registerAttach(program: Command): void {
  program
    .command("attach")
    .description("register this host with a server and grade what it queues")
    .requiredOption("--server <url>", "the server (HTTPS, or loopback)")
    .option("--token <token>", "one-time token; needed for the first start only")
    .option("--once", "grade one job, then end")
    .option("--drain", "end when no job is offered")
    .option("--name <name>", "name of this host as the site shows it", "host")
    .option("--data <dir>", "key, registration and jobs of this host", defaultDataDir)
    .option("--suite <dir>", "suite whose tasks are served; may be repeated", collected)
    .addOption(mirrorOption())
    .addOption(executorOption())
    .option("--parallel <n>", "gradings at a time", positive, 1)
    .option("--ranks <n>", "CPU ranks that one grading may have", positive, 64)
    .option("--json", "one JSON document on stdout at the end")
    .action((options: AttachOptions) =>
      runCommand(options, async (output, signal) => {
        const server = parseServerUrl(options.server);
        const tasks = await loadTasks(options.suite, mirrorsOf(options), (text) => output.line(text));
        const pythonOf = (task: LoadedTask | undefined): Promise<PythonRuntime> =>
          ensurePython({ packages: task?.suite.python_packages, onProgress: (text) => output.line(text) });
        for (const task of tasks.values()) await pythonOf(task);
        // What a host says of itself comes from the Python of the tasks that need most
        const needy = [...tasks.values()].find(({ suite }) => (suite.python_packages ?? []).length > 0);
        const python = await pythonOf(needy);
        if (options.executor === "bwrap") await checkBwrap();
        const data = new RunnerData(resolve(options.data));
        const close = await data.open();
        try {
          const { registration, signer } = await ensureRegistered(data, {
            server,
            token: options.token ?? null,
            name: options.name,
            host: await collectHostFacts(python),
          }).catch(atServer(server));
          output.line(
            `attached to ${server.origin} as '${registration.name}' (key ${registration.keyid.slice(0, 16)}…), ` +
              `${tasks.size} tasks, executor ${options.executor}`,
          );
          const pool = new GpuPool({
            what: "attach",
            onEvent: (event) => output.line(describeQuarantine(event)),
            onWait: (text) => output.line(text),
          });
          const offer = new GpuOffer(pool, tasks);
          const unserved = tasks.size - (await offer.now()).gradingDigests.length;
          if (unserved > 0) {
            output.line(
              `${unserved} of them need GPUs that this host cannot give, and are not offered to it (runner doctor says why)`,
            );
          }
          const grade: GradeJob = async ({ spec, task, patch, workDir, out, signal: canceled, onProgress }) => {
            return await offer.withGpus({ spec, task, signal: canceled }, async (grant) => {
              const { result, bundle } = await gradeToBundle({
                task,
                patch,
                candidate: spec.candidate,
                gradingId: spec.gradingId,
                attemptId: spec.attemptId,
                lease: { id: spec.lease.id, nonce: spec.lease.nonce },
                executor: options.executor,
                gpus: grant,
                python: await pythonOf(task),
                signer,
                workDir: join(workDir, "grading"),
                out,
                signal: canceled,
                onProgress: (event) => {
                  const text = describeProgress(event);
                  if (text !== null) onProgress(text);
                },
              });
              const reason = result.reason === null ? null : `${result.reason.message} [${result.reason.code}]`;
              return {
                status: result.status,
                reason,
                summary: summarizeResult(result),
                bundle: { path: bundle.path, sha256: bundle.sha256, bytes: bundle.bytes },
              };
            });
          };
          const mode: ServeOptions["mode"] = options.once ? "once" : options.drain ? "drain" : "serve";
          const ends = await serveJobs(
            {
              api: new ServerApi(server, registration.credential),
              data,
              registration,
              signer,
              tasks,
              grade,
              stop: signal,
              say: (text) => output.line(text),
              progress: (text) => output.live(text),
            },
            {
              mode,
              parallel: options.parallel,
              capacity: async () => ({
                ...(await offer.now()),
                cpuRanks: options.ranks,
                sandboxed: options.executor !== "process",
              }),
            },
          ).catch(atServer(server));
          if (ends.length > 0) {
            const rows = ends.map((end) => [end.task, end.status, end.verdict, end.bundleSha256?.slice(0, 16) ?? null]);
            output.line(formatTable(["task", "status", "verdict", "bundle"], rows));
          } else if (mode !== "serve") output.line("no job was offered");
          output.result({ jobs: ends });
          if (signal.aborted) throw signal.reason;
          return ends.every((end) => delivered.has(end.verdict)) ? exitCodes.ok : exitCodes.failed;
        } finally {
          await close();
        }
      }),
    );
}

function summarizeResult({ status, summary, durationMs }: Result): string {
  const verdict = status !== "completed" ? status : summary.resolved ? "resolved" : "not resolved";
  return `${verdict}, ${summary.requiredPassed}/${summary.requiredTotal} required tests pass, ${formatElapsed(durationMs)}`;
}

/**
 * Tasks of the suites named (the bundled one by default), by their grading digests. A task by reference whose sources
 * are not at hand is not served, and it is said which and why.
 */
async function loadTasks(
  dirs: readonly string[] | undefined,
  mirrors: Mirrors,
  say: (text: string) => void,
): Promise<Map<string, LoadedTask>> {
  const tasks = new Map<string, LoadedTask>();
  for (const dir of dirs ?? [undefined]) {
    for (const task of (await loadSuite(locateSuite(dir))).tasks) {
      try {
        await provideSources(task, mirrors);
        tasks.set(task.manifest.digests.grading, task);
      } catch (error) {
        if (!(error instanceof InfraDevError) || !error.code.startsWith("upstream.")) throw error;
        say(`${task.metadata.slug} is not served: ${error.message}; ${error.problem.remedy ?? "look at its sources"}`);
      }
    }
  }
  if (tasks.size > 0) return tasks;
  throw new InfraDevError("invalid", {
    code: "suite.empty",
    message: "the suites named hold no task that can be served here",
    where: "--suite",
    rule: "a host serves at least one task",
    remedy: "name a suite with tasks",
  });
}
