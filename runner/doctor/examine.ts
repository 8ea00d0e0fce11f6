import { constants } from "node:fs";
import { access, mkdir, readFile, statfs } from "node:fs/promises";
import { cpus, platform, tmpdir, totalmem } from "node:os";
import { InfraDevError } from "@/lib/contract/errors";
import { checkBwrap } from "../executors/bwrap";
import { gpusInWords } from "../gpus/grant";
import { ensurePython, type PythonRuntime, resolvePython } from "../grading/python-runtime";
import { capture } from "../processes/capture";
import { formatBytes } from "../terminal/output";
import { type CheckState, type Finding, missing, missingFor, note, ok } from "./finding";
import { examineGpus, type GpuRow } from "./gpus";
import { examineSuites, type SuiteRow } from "./suites";

type HostCheck = {
  id: string;
  label: string;
  state: CheckState;
  found: string;
  remedy: string | null;
  /** Code of the error that a command ends with here, and the place that it names; null where nothing is wrong. */
  code: string | null;
  where: string | null;
};
export type Examination = {
  checks: HostCheck[];
  gpus: GpuRow[];
  suites: SuiteRow[];
  /** Kinds of launches: whether they can be made here, and how to mend that. */
  launches: { kind: "cpu-ranks" | "shared-gpu" | "several-gpus"; label: string; can: boolean; remedy: string | null }[];
  /** What this host can run, in words, and for programs. */
  can: { gradeSandboxed: boolean; gradeUnsandboxed: boolean; gpus: number; verify: boolean; sentence: string };
};

const minimumNode = [20, 19] as const;
const minimumGit = [2, 30] as const;
const diskBytes = 2 * 1024 ** 3;
const sharedMemoryBytes = 64 * 1024 ** 2;

const atLeast = (version: string, minimum: readonly [number, number]): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > minimum[0] || (major === minimum[0] && minor >= minimum[1]);
};

function examineNode(): Finding {
  const version = process.versions.node;
  return atLeast(version, minimumNode) ? ok(version) : missing(version, "install Node.js 20.19 or newer");
}

async function examinePython(
  installPytest: boolean,
): Promise<{ python: Finding; pytest: Finding; torch: Finding; runtime: PythonRuntime | null }> {
  const torchNote = note("not installed", "needed by tasks that use torch only");
  try {
    const found = await (installPytest ? ensurePython() : resolvePython());
    const python = ok(`${found.version} (${found.executable}, from ${found.source})`);
    const torch = found.torch === null ? torchNote : await examineTorch(found);
    return { python, pytest: ok(found.pytest), torch, runtime: found };
  } catch (error) {
    if (!(error instanceof InfraDevError)) throw error;
    const finding = missingFor(error, "install Python 3.10 or newer with pytest");
    const aboutPytest = /pytest$|no-venv$|install$/.test(error.code);
    const python = aboutPytest ? ok(error.problem.where ?? "found") : finding;
    const pytest = aboutPytest ? finding : missing("no Python to look in", "install Python first");
    return { python, pytest, torch: torchNote, runtime: null };
  }
}

const bytecodeProbe = `
import importlib.util, os
folder = os.path.dirname(importlib.util.find_spec("torch").origin)
print(folder if not os.path.isdir(os.path.join(folder, "__pycache__")) else "")`;

/** Launches write no bytecode: where torch has none, every rank of every launch compiles it again. */
async function examineTorch({ executable, torch }: PythonRuntime): Promise<Finding> {
  const probed = await capture(executable, ["-s", "-c", bytecodeProbe], { timeoutMs: 30_000 }).catch(() => null);
  const folder = probed?.stdout.trim() ?? "";
  if (folder === "") return ok(torch ?? "");
  return note(
    `${torch}, without bytecode: each launch starts seconds later`,
    `${executable} -m compileall -q ${folder}`,
  );
}

async function examineBwrap(): Promise<Finding> {
  try {
    const { program, version } = await checkBwrap();
    return ok(`${version} (${program}), a sandbox starts`);
  } catch (error) {
    if (!(error instanceof InfraDevError)) throw error;
    return missingFor(error, "install bubblewrap");
  }
}

async function examineNamespaces(): Promise<Finding> {
  if (platform() !== "linux") return missing(platform(), "sandboxed grading needs Linux; use --executor process here");
  const maximum = Number(await readFile("/proc/sys/user/max_user_namespaces", "utf8").catch(() => "0"));
  if (maximum > 0) return ok(`up to ${maximum}`);
  return missing("switched off", "sysctl -w user.max_user_namespaces=15000");
}

async function examineControlGroups(): Promise<Finding> {
  const unified = await access("/sys/fs/cgroup/cgroup.controllers").then(
    () => true,
    () => false,
  );
  const root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const writable = await access(root, constants.W_OK).then(
    () => true,
    () => false,
  );
  const version = unified ? "version 2" : "version 1 or hybrid";
  if (writable) return ok(`${version}, writable: memory limits by control group`);
  return note(`${version}, not writable`, "memory is limited by rlimits instead; nothing to do");
}

async function examineGit(): Promise<Finding> {
  const run = await capture("git", ["--version"], { timeoutMs: 10_000 }).catch(() => null);
  const version = /(\d+\.\d+(?:\.\d+)?)/.exec(run?.stdout ?? "")?.[1];
  if (version === undefined) return missing("not installed", "install git 2.30 or newer");
  return atLeast(version, minimumGit) ? ok(version) : missing(version, "install git 2.30 or newer");
}

async function examineSpace(folder: string, wanted: number, remedy: string, scarce = missing): Promise<Finding> {
  try {
    const stats = await statfs(folder);
    const free = stats.bavail * stats.bsize;
    const found = `${formatBytes(free)} free in ${folder}`;
    if (free >= wanted) return ok(found);
    return { ...scarce(`${found}, ${formatBytes(wanted)} wanted`, remedy), where: folder };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "cannot be read";
    return { ...missing(`${folder}: ${code}`, remedy), where: folder };
  }
}

/** `another`: how to name another folder. `scarce`: what it is called that there is little room. */
async function examineWritable(folder: string, another: string, scarce = missing): Promise<Finding> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    return await examineSpace(folder, diskBytes, `free disk space, or ${another}`, scarce);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "cannot be written";
    return { ...missing(`${folder}: ${code}`, `make the folder writable, or ${another}`), where: folder };
  }
}

/**
 * Looks at everything that grading needs of this host. Starts nothing but what answers within seconds, unless pytest is
 * to be installed where only pytest is missing.
 */
export async function examineHost(options: { dataDir: string; installPytest: boolean }): Promise<Examination> {
  const python = await examinePython(options.installPytest);
  const withTorch =
    python.runtime?.torch == null ? await resolvePython({ packages: ["torch"] }).catch(() => null) : null;
  const gpus = await examineGpus(withTorch ?? python.runtime);
  const suites = await examineSuites(gpus.servable.map(({ memoryMb }) => memoryMb));
  const entries: [string, string, Finding][] = [
    ["node", "Node.js", examineNode()],
    ["python", "Python", python.python],
    ["pytest", "pytest", python.pytest],
    ["torch", "torch", python.torch],
    ["git", "git", await examineGit()],
    ["bwrap", "bubblewrap", await examineBwrap()],
    ["namespaces", "user namespaces", await examineNamespaces()],
    ["cgroups", "control groups", await examineControlGroups()],
    ["cpu", "CPU and memory", ok(`${cpus().length} × ${cpus()[0]?.model ?? "CPU"}, ${formatBytes(totalmem())}`)],
    ["disk", "space for checkouts", await examineWritable(tmpdir(), "name another one with TMPDIR")],
    ["data", "data folder", await examineWritable(options.dataDir, "give another one with --data", note)],
    ["shm", "shared memory", await examineSpace("/dev/shm", sharedMemoryBytes, "mount /dev/shm with at least 64 MiB")],
    ...gpus.findings,
    ...suites.findings,
  ];
  const checks = entries.map(
    ([id, label, finding]): HostCheck => ({
      id,
      label,
      ...finding,
      code: finding.state === "missing" ? (finding.code ?? `host.${id}`) : null,
      where: finding.where ?? null,
    }),
  );
  const stateOf = (id: string): CheckState | undefined => checks.find((check) => check.id === id)?.state;
  const isOk = (...ids: string[]) => ids.every((id) => stateOf(id) === "ok");
  const gradeUnsandboxed = isOk("node", "python", "pytest", "git", "disk") && stateOf("data") !== "missing";
  const gradeSandboxed = gradeUnsandboxed && isOk("bwrap", "namespaces");
  const count = gpus.servable.length;
  const cudaWorks = isOk("cuda");
  const gpuRemedy = (needed: number): string | null => {
    if (!gradeUnsandboxed) return "mend what is missing above";
    if (count < needed) return `needs ${needed} healthy GPU${needed === 1 ? "" : "s"}, this host can give ${count}`;
    return cudaWorks ? null : "mend driver and torch, see above";
  };
  const launches: Examination["launches"] = [
    { kind: "cpu-ranks", label: "ranks on CPUs", remedy: gradeUnsandboxed ? null : "mend what is missing above" },
    { kind: "shared-gpu", label: "ranks that share one GPU", remedy: gpuRemedy(1) },
    { kind: "several-gpus", label: `ranks on up to ${Math.max(2, count)} GPUs, with NCCL`, remedy: gpuRemedy(2) },
  ].map((launch) => ({ ...launch, can: launch.remedy === null }) as Examination["launches"][number]);
  return {
    checks,
    gpus: gpus.rows,
    suites: suites.rows,
    launches,
    can: { gradeSandboxed, gradeUnsandboxed, gpus: count, verify: isOk("node"), sentence: sentenceOf() },
  };

  function sentenceOf(): string {
    const on = count > 0 ? `CPU ranks and ${gpusInWords(count)}` : "CPU ranks";
    if (gradeSandboxed) return `This host can grade in a sandbox, on ${on}.`;
    if (gradeUnsandboxed) {
      return `This host can grade without a sandbox only (--executor process), on ${on}: for development, never for a verified result.`;
    }
    return "This host cannot grade yet; mend what is missing above. It can verify bundles.";
  }
}
