import { existsSync, realpathSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { environment } from "../environment";
import { capture } from "../processes/capture";

/** A Python with pytest, as found: which one, and what a sandbox must show of the file system so that it works. */
export type PythonRuntime = {
  /** Path that starts it. */
  executable: string;
  version: string;
  pytest: string;
  torch: string | null;
  /** `INFRADEV_PYTHON`, `.data/python` or `PATH`. */
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
};

const minimum = [3, 10] as const;
const variablesOf = (options: PythonOptions): NodeJS.ProcessEnv => options.env ?? environment.variables;
const venvFolder = (options: PythonOptions): string =>
  resolve(options.root ?? process.cwd(), variablesOf(options).INFRADEV_DATA_DIR || ".data", "python");
const venvPython = (options: PythonOptions): string => join(venvFolder(options), "bin", "python");

const probe = `
import json, os, sys
if sys.version_info < (3, 8):
    nothing = {"pytest": None, "torch": None, "folders": [], "standardModules": []}
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
    "standardModules": sorted(sys.stdlib_module_names),
}))
`;

type Probed = {
  version: [number, number, number];
  pytest: string | null;
  torch: string | null;
  executable: string;
  folders: string[];
  standardModules: string[];
};

async function probePython(program: string): Promise<Probed | { failure: string }> {
  try {
    const result = await capture(program, ["-s", "-B", "-c", probe], { timeoutMs: 60_000, cwd: "/" });
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

function runtimeOf(probed: Probed, source: PythonRuntime["source"], program: string): PythonRuntime {
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

const found = new Map<string, Promise<PythonRuntime>>();

async function findPython(options: PythonOptions): Promise<PythonRuntime> {
  const env = variablesOf(options);
  const chosen = env.INFRADEV_PYTHON;
  if (chosen) {
    const probed = await probePython(chosen);
    if ("failure" in probed) {
      throw unusable(
        "python.unusable",
        `INFRADEV_PYTHON names a Python that does not work: ${probed.failure}`,
        chosen,
        "correct or unset INFRADEV_PYTHON",
      );
    }
    return runtimeOf(probed, "INFRADEV_PYTHON", chosen);
  }
  const own = venvPython(options);
  if (existsSync(own)) {
    const probed = await probePython(own);
    if (!("failure" in probed) && probed.pytest !== null && !oldPython(probed)) {
      return runtimeOf(probed, ".data/python", own);
    }
  }
  const failures: string[] = [];
  let tooOld: { probed: Probed; program: string } | null = null;
  let bare: Probed | null = null;
  const names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
  const onPath = (env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  const seen = new Set<string>();
  for (const program of onPath) {
    if (!existsSync(program)) continue;
    const real = realpathSync(program);
    if (seen.has(real)) continue;
    seen.add(real);
    const probed = await probePython(program);
    if ("failure" in probed) failures.push(`${program}: ${probed.failure}`);
    else if (oldPython(probed)) tooOld ??= { probed, program };
    else if (probed.pytest === null) bare ??= probed;
    else return runtimeOf(probed, "PATH", program);
  }
  if (bare !== null) return runtimeOf(bare, "PATH", bare.executable);
  if (tooOld !== null) return runtimeOf(tooOld.probed, "PATH", tooOld.program);
  throw unusable(
    "python.missing",
    failures.length > 0 ? `no Python works here: ${failures[0]}` : "there is no python3 in PATH",
    "PATH",
    "install Python 3.10 or newer, or set INFRADEV_PYTHON to one",
  );
}

/**
 * Finds the Python that runs the ranks: `INFRADEV_PYTHON`, else the environment `python` of the data folder, else the
 * first python3 in PATH that has pytest. Looks once per process. Throws `python.missing`, `python.too-old`,
 * `python.no-pytest`, `python.old-pytest` or `python.unusable` with the remedy.
 */
export function resolvePython(options: PythonOptions = {}): Promise<PythonRuntime> {
  const env = variablesOf(options);
  const key = JSON.stringify([venvFolder(options), env.INFRADEV_PYTHON, env.PATH]);
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
 * no environment behind then.
 */
export async function ensurePython(options: PythonOptions = {}): Promise<PythonRuntime> {
  try {
    return await resolvePython(options);
  } catch (error) {
    const mendable =
      error instanceof InfraDevError &&
      (error.code === "python.no-pytest" || error.code === "python.old-pytest") &&
      !variablesOf(options).INFRADEV_PYTHON;
    if (!mendable) throw error;
    const folder = venvFolder(options);
    const base = error.problem.where ?? "python3";
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

const firstLine = (text: string): string => text.trim().split("\n")[0] || "no message";
const lastLine = (text: string): string => text.trim().split("\n").at(-1) || "no message";
