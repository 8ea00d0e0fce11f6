import { existsSync, realpathSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { environment } from "../environment";
import { capture } from "../processes/capture";
import { completeMark, environmentName, makeEnvironment, parseRequirement, unmetRequirements } from "./python-packages";

/** A Python with pytest, as found: which one, and what a sandbox must show of the file system so that it works. */
export type PythonRuntime = {
  /** Path that starts it. */
  executable: string;
  version: string;
  pytest: string;
  torch: string | null;
  /** `INFRADEV_PYTHON`, `PATH`, or an environment of the data folder, which is `.data` by default. */
  source: "INFRADEV_PYTHON" | ".data/python" | "PATH";
  /** Absolute folders that hold the interpreter, its library and its packages. */
  folders: string[];
  /** Names of the standard library's modules, `sys.stdlib_module_names`. */
  standardModules: string[];
};

export type PythonOptions = {
  /** Where `.data/` lies unless `INFRADEV_DATA_DIR` names another folder; the working directory by default. */
  root?: string;
  env?: NodeJS.ProcessEnv;
  /** Distributions that the suite's tests need beside pytest, as pip's requirements. */
  packages?: readonly string[] | undefined;
  /** Told what takes long. */
  onProgress?: (text: string) => void;
};

const minimum = [3, 10] as const;
const variablesOf = (options: PythonOptions): NodeJS.ProcessEnv => options.env ?? environment.variables;
const venvFolder = (options: PythonOptions): string =>
  resolve(options.root ?? process.cwd(), variablesOf(options).INFRADEV_DATA_DIR || ".data", "python");
const venvPython = (options: PythonOptions): string => join(venvFolder(options), "bin", "python");
const packagesOf = (options: PythonOptions): readonly string[] => options.packages ?? [];
const packagesFolder = (options: PythonOptions): string =>
  join(venvFolder(options), "..", environmentName(packagesOf(options)));

const probe = `
import json, os, sys
if sys.version_info < (3, 8):
    nothing = {"pytest": None, "torch": None, "folders": [], "standardModules": [], "installed": {}}
    print(json.dumps(dict(nothing, version=list(sys.version_info[:3]), executable=sys.executable)))
    sys.exit()
import site, sysconfig
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
real = os.path.realpath(sys.executable)
folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.dirname(real))}
folders.update(path for path in sysconfig.get_paths().values() if os.path.isdir(path))
pytest_file = None
if version("pytest"):
    import importlib.util
    spec = importlib.util.find_spec("pytest")
    pytest_file = spec.origin if spec else None
    if pytest_file:
        folders.add(os.path.dirname(os.path.dirname(os.path.realpath(pytest_file))))
print(json.dumps({
    "version": list(sys.version_info[:3]), "pytest": version("pytest") if pytest_file else None,
    "torch": version("torch"), "executable": sys.executable, "folders": sorted(folders),
    "standardModules": sorted(sys.stdlib_module_names), "installed": {name: version(name) for name in sys.argv[1:]},
}))
`;

type Probed = {
  version: [number, number, number];
  pytest: string | null;
  torch: string | null;
  executable: string;
  folders: string[];
  standardModules: string[];
  /** Versions of the distributions that were asked for. */
  installed: Record<string, string | null>;
};

async function probePython(program: string, packages: readonly string[]): Promise<Probed | { failure: string }> {
  try {
    const names = packages.map((text) => parseRequirement(text).name);
    const result = await capture(program, ["-s", "-B", "-c", probe, ...names], { timeoutMs: 60_000, cwd: "/" });
    if (result.code !== 0) return { failure: lastLine(result.stderr) };
    return JSON.parse(result.stdout) as Probed;
  } catch (cause) {
    if (cause instanceof SyntaxError) return { failure: "it does not answer as a Python does" };
    const code = (cause as NodeJS.ErrnoException).code;
    return { failure: code === "ENOENT" ? "there is no such program" : `it cannot be started (${code ?? cause})` };
  }
}

const oldPython = (probed: Probed): boolean =>
  probed.version[0] < minimum[0] || (probed.version[0] === minimum[0] && probed.version[1] < minimum[1]);

function unusable(code: string, message: string, where: string, remedy: string): InfraDevError {
  return new InfraDevError("unavailable", {
    code,
    message,
    where,
    rule: `grading needs Python ${minimum.join(".")} or newer with pytest 7 or newer`,
    remedy,
  });
}

/** Refuses what cannot serve, by the first reason. */
function runtimeOf(
  probed: Probed,
  source: PythonRuntime["source"],
  program: string,
  packages: readonly string[],
): PythonRuntime {
  if (oldPython(probed)) {
    throw unusable(
      "python.too-old",
      `Python ${probed.version.join(".")} is too old`,
      program,
      "set INFRADEV_PYTHON to a newer Python, or install one",
    );
  }
  if (probed.pytest === null) {
    throw unusable(
      "python.no-pytest",
      `Python ${probed.version.join(".")} has no pytest`,
      program,
      `install it: ${program} -m pip install pytest`,
    );
  }
  if (Number.parseInt(probed.pytest, 10) < 7) {
    throw unusable(
      "python.old-pytest",
      `pytest ${probed.pytest} is too old`,
      program,
      `upgrade it: ${program} -m pip install --upgrade pytest`,
    );
  }
  const unmet = unmetRequirements(packages, probed.installed);
  if (unmet.length > 0) {
    const wanted = packages.map((text) => `'${text}'`).join(" ");
    throw unusable(
      "python.no-packages",
      `Python ${probed.version.join(".")} does not have what the suite needs: ${unmet.join(", ")}`,
      program,
      source === "INFRADEV_PYTHON"
        ? `install it (${program} -m pip install ${wanted}), or unset INFRADEV_PYTHON so that an environment is made`
        : `grade, attach or task check make an environment with it; or install it: ${program} -m pip install ${wanted}`,
    );
  }
  return {
    executable: probed.executable,
    version: probed.version.join("."),
    pytest: probed.pytest,
    torch: probed.torch,
    source,
    folders: [...new Set(probed.folders.filter(existsSync).flatMap((folder) => [folder, realpathSync(folder)]))],
    standardModules: probed.standardModules,
  };
}

const hasPackages = (probed: Probed, packages: readonly string[]): boolean =>
  unmetRequirements(packages, probed.installed).length === 0;

const found = new Map<string, Promise<PythonRuntime>>();

async function findPython(options: PythonOptions): Promise<PythonRuntime> {
  const env = variablesOf(options);
  const packages = packagesOf(options);
  const chosen = env.INFRADEV_PYTHON;
  if (chosen) {
    const probed = await probePython(chosen, packages);
    if ("failure" in probed) {
      throw unusable(
        "python.unusable",
        `INFRADEV_PYTHON names a Python that does not work: ${probed.failure}`,
        chosen,
        "correct or unset INFRADEV_PYTHON",
      );
    }
    return runtimeOf(probed, "INFRADEV_PYTHON", chosen, packages);
  }
  const own = venvPython(options);
  if (existsSync(own)) {
    const probed = await probePython(own, packages);
    if (!("failure" in probed) && probed.pytest !== null && !oldPython(probed) && hasPackages(probed, packages)) {
      return runtimeOf(probed, ".data/python", own, packages);
    }
  }
  const failures: string[] = [];
  let tooOld: { probed: Probed; program: string } | null = null;
  let bare: Probed | null = null;
  let lacking: { probed: Probed; program: string } | null = null;
  const names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
  const onPath = (env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  const seen = new Set<string>();
  for (const program of onPath) {
    if (!existsSync(program)) continue;
    const real = realpathSync(program);
    if (seen.has(real)) continue;
    seen.add(real);
    const probed = await probePython(program, packages);
    if ("failure" in probed) failures.push(`${program}: ${probed.failure}`);
    else if (oldPython(probed)) tooOld ??= { probed, program };
    else if (probed.pytest === null) bare ??= probed;
    else if (hasPackages(probed, packages)) return runtimeOf(probed, "PATH", program, packages);
    else lacking ??= { probed, program };
  }
  const made = join(packagesFolder(options), "bin", "python");
  if (packages.length > 0 && existsSync(join(packagesFolder(options), completeMark))) {
    const probed = await probePython(made, packages);
    if (!("failure" in probed) && hasPackages(probed, packages)) {
      return runtimeOf(probed, ".data/python", made, packages);
    }
  }
  if (lacking !== null) return runtimeOf(lacking.probed, "PATH", lacking.program, packages);
  if (bare !== null) return runtimeOf(bare, "PATH", bare.executable, packages);
  if (tooOld !== null) return runtimeOf(tooOld.probed, "PATH", tooOld.program, packages);
  throw unusable(
    "python.missing",
    failures.length > 0 ? `no Python works here: ${failures[0]}` : "there is no python3 in PATH",
    "PATH",
    "install Python 3.10 or newer, or set INFRADEV_PYTHON to one",
  );
}

/**
 * Finds the Python that runs the ranks: `INFRADEV_PYTHON`, else the environment `python` of the data folder, else the
 * first python3 in PATH that has pytest, and the packages where some are asked for; else the environment that
 * `ensurePython` made for these packages. Looks once per process. Throws `python.missing`, `python.too-old`,
 * `python.no-pytest`, `python.old-pytest`, `python.no-packages` or `python.unusable` with the remedy.
 */
export function resolvePython(options: PythonOptions = {}): Promise<PythonRuntime> {
  const env = variablesOf(options);
  const key = JSON.stringify([venvFolder(options), env.INFRADEV_PYTHON, env.PATH, packagesOf(options)]);
  let search = found.get(key);
  if (search === undefined) {
    search = findPython(options);
    found.set(key, search);
    search.catch(() => found.delete(key));
  }
  return search;
}

/**
 * Like `resolvePython`, and where only pytest is missing, makes the environment `python` of the data folder with
 * `python3 -m venv` and installs pytest there. Throws `python.no-venv` or `python.install` where that fails, and leaves
 * no environment behind then. Where packages are missing, makes an environment for them (see `makeEnvironment`).
 */
export async function ensurePython(options: PythonOptions = {}): Promise<PythonRuntime> {
  try {
    return await resolvePython(options);
  } catch (error) {
    const mendable =
      error instanceof InfraDevError &&
      ["python.no-pytest", "python.old-pytest", "python.no-packages"].includes(error.code) &&
      !variablesOf(options).INFRADEV_PYTHON;
    if (!mendable) throw error;
    const base = error.problem.where ?? "python3";
    if (packagesOf(options).length > 0) return await ensurePackages(base, options);
    const folder = venvFolder(options);
    await mkdir(join(folder, ".."), { recursive: true });
    const otherwise =
      "install pytest for this Python yourself (Debian and Ubuntu: apt install python3-pytest), or set INFRADEV_PYTHON to a Python with pytest";
    const made = await capture(base, ["-m", "venv", "--clear", folder], { timeoutMs: 180_000 });
    if (made.code !== 0) {
      await rm(folder, { recursive: true, force: true });
      throw unusable(
        "python.no-venv",
        `${error.message}, and a virtual environment for it could not be made: ${firstLine(made.stderr || made.stdout)}`,
        base,
        `install the venv module (Debian and Ubuntu: apt install python3-venv); or ${otherwise}`,
      );
    }
    const python = venvPython(options);
    const installed = await capture(python, ["-m", "pip", "install", "--disable-pip-version-check", "-q", "pytest"], {
      timeoutMs: 300_000,
    });
    if (installed.code !== 0) {
      await rm(folder, { recursive: true, force: true });
      throw unusable(
        "python.install",
        `${error.message}, and it could not be installed: ${lastLine(installed.stderr)}`,
        base,
        `let pip reach a package index (PIP_INDEX_URL names another one); or ${otherwise}`,
      );
    }
    found.clear();
    return await resolvePython(options);
  }
}

/** Whether this host has the driver of NVIDIA GPUs: packages are then installed with what uses it. */
const hasNvidia = (): boolean => existsSync("/dev/nvidiactl") || existsSync("/proc/driver/nvidia/version");

async function ensurePackages(base: string, options: PythonOptions): Promise<PythonRuntime> {
  const probed = await probePython(base, []);
  const version = "failure" in probed ? "?" : probed.version.join(".");
  await makeEnvironment({
    folder: packagesFolder(options),
    packages: packagesOf(options),
    base: { executable: base, version },
    hasGpu: hasNvidia(),
    variables: variablesOf(options),
    onProgress: options.onProgress,
  });
  found.clear();
  return await resolvePython(options);
}

const firstLine = (text: string): string => text.trim().split("\n")[0] || "no message";
const lastLine = (text: string): string => text.trim().split("\n").at(-1) || "no message";
