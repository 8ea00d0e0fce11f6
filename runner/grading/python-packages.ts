import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InfraDevError } from "@/lib/contract/errors";
import { capture } from "../processes/capture";
import { isAbandoned, processOwner } from "../processes/owner";
import { compareBytes } from "../suites/files";

/** A requirement as a suite states it: `torch>=2.6,<3`. */
type Requirement = { name: string; clauses: { operator: string; version: string }[] };

/** Splits a requirement; the contract's schema has checked its form. */
export function parseRequirement(text: string): Requirement {
  const name = /^[A-Za-z0-9][\w.-]*/.exec(text)?.[0] ?? text;
  const clauses = text
    .slice(name.length)
    .split(",")
    .flatMap((clause) => {
      const match = /^([<>=!~]=?)([\w.*]+)$/.exec(clause.trim());
      return match ? [{ operator: match[1] ?? "", version: match[2] ?? "" }] : [];
    });
  return { name, clauses };
}

/** Numbers of a version's release: `2.11.0+cu130` is [2, 11, 0]. */
const releaseOf = (version: string): number[] => (/^\d+(\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);

function compareReleases(one: readonly number[], other: readonly number[]): number {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Whether an installed version meets a requirement, by the numbers of its release: local parts (`+cu130`) and suffixes
 * of pre-releases are not looked at. `~=2.6` means 2.6 or newer below 3; `==2.*` compares the numbers that are stated.
 */
export function meets(version: string, { clauses }: Requirement): boolean {
  const installed = releaseOf(version);
  return clauses.every(({ operator, version: wanted }) => {
    const stated = releaseOf(wanted);
    const prefix = wanted.endsWith("*") ? installed.slice(0, stated.length) : installed;
    const order = compareReleases(prefix, stated);
    if (operator === ">=") return order >= 0;
    if (operator === "<=") return order <= 0;
    if (operator === ">") return order > 0;
    if (operator === "<") return order < 0;
    if (operator === "!=") return order !== 0;
    if (operator === "~=") {
      const kept = stated.slice(0, -1);
      return order >= 0 && compareReleases(installed.slice(0, kept.length), kept) === 0;
    }
    return order === 0;
  });
}

/** Requirements that the installed versions do not meet, each with what was found. */
export function unmetRequirements(
  requirements: readonly string[],
  installed: Readonly<Record<string, string | null>>,
): string[] {
  return requirements.flatMap((text) => {
    const requirement = parseRequirement(text);
    const version = installed[requirement.name] ?? null;
    if (version === null) return [`${text} (not installed)`];
    return meets(version, requirement) ? [] : [`${text} (${version} is installed)`];
  });
}

/** Name of the environment for these packages within the data folder. */
export function environmentName(packages: readonly string[]): string {
  const digest = createHash("sha256")
    .update([...packages].sort(compareBytes).join("\n"))
    .digest("hex");
  return `python-${digest.slice(0, 12)}`;
}

/** Written into an environment when everything is installed. */
export const completeMark = "infradev-complete";

const gib = 1024 ** 3;
const installMinutes = 40;
const lockWaitMs = 500;
/** A lock is written as it is made: one that stays empty is of a process that ended between the two. */
const unwrittenMs = 10_000;

export type EnvironmentRequest = {
  /** Where the environment is to stand. */
  folder: string;
  packages: readonly string[];
  /** The Python that it is made of. */
  base: { executable: string; version: string };
  hasGpu: boolean;
  variables: Readonly<Record<string, string | undefined>>;
  onProgress?: ((text: string) => void) | undefined;
};

const unavailable = (code: string, message: string, where: string, remedy: string): InfraDevError =>
  new InfraDevError("unavailable", {
    code,
    message,
    where,
    rule: "a suite's tests run in a Python that has the suite's packages and pytest",
    remedy,
  });

/**
 * Makes an environment with pytest and the packages, or goes on with one that an earlier run did not complete. One
 * process at a time does it; others wait and find it made. Throws `python.no-venv`, `python.no-space`,
 * `python.index-unreachable`, `python.no-wheel` or `python.install`, each with its remedy.
 */
export async function makeEnvironment(request: EnvironmentRequest): Promise<void> {
  const { folder, packages, base } = request;
  const release = await lockFolder(`${folder}.lock`, request.onProgress);
  try {
    if (existsSync(join(folder, completeMark))) return;
    const torch = packages.some((text) => parseRequirement(text).name === "torch");
    const wanted = torch ? (request.hasGpu ? 12 * gib : 3 * gib) : gib / 4;
    await demandSpace(folder, wanted);
    const size = torch ? (request.hasGpu ? "about 6 GB" : "about 1 GB") : "below 100 MB";
    request.onProgress?.(`making a Python with ${packages.join(", ")} in ${folder}: ${size}, once, some minutes`);
    if (!existsSync(join(folder, "bin", "python"))) {
      const made = await capture(base.executable, ["-m", "venv", "--clear", folder], { timeoutMs: 300_000 });
      if (made.code !== 0) {
        await rm(folder, { recursive: true, force: true });
        throw unavailable(
          "python.no-venv",
          `no virtual environment could be made: ${lastLine(made.stderr || made.stdout)}`,
          base.executable,
          "install the venv module (Debian and Ubuntu: apt install python3-venv), or set INFRADEV_PYTHON to a Python with the packages",
        );
      }
    }
    const python = join(folder, "bin", "python");
    const args = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-q", "--retries", "0"];
    if (torch && !request.hasGpu && !(await hasOwnIndex(python, request.variables))) {
      args.push("--extra-index-url", "https://download.pytorch.org/whl/cpu");
    }
    const installed = await capture(python, [...args, "pytest", ...packages], { timeoutMs: installMinutes * 60_000 });
    if (installed.code !== 0) throw installError(installed.stderr, request, installed.signal !== null);
    await writeFile(join(folder, completeMark), `${packages.join("\n")}\n`);
  } finally {
    await release();
  }
}

/** Whether pip was told of an index or a folder of wheels: then none is added to it. */
async function hasOwnIndex(python: string, variables: EnvironmentRequest["variables"]): Promise<boolean> {
  const named = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONFIG_FILE"];
  if (named.some((name) => variables[name])) return true;
  const listed = await capture(python, ["-m", "pip", "config", "list"], { timeoutMs: 60_000 });
  return /(index-url|find-links|no-index)/.test(listed.stdout);
}

/** What pip's messages mean. */
export function installError(
  stderr: string,
  request: Pick<EnvironmentRequest, "folder" | "packages" | "base">,
  timedOut: boolean,
): InfraDevError {
  const { folder, base } = request;
  const wanted = ["pytest", ...request.packages].join(", ");
  const otherwise = "or set INFRADEV_PYTHON to a Python that has them";
  if (timedOut) {
    return unavailable(
      "python.install",
      `installing ${wanted} took more than ${installMinutes} minutes`,
      folder,
      `start again, it goes on with what is there; ${otherwise}`,
    );
  }
  if (/No space left on device|Errno 28/.test(stderr)) {
    return unavailable(
      "python.no-space",
      `the disk was full while ${wanted} were installed`,
      folder,
      `free disk space, or set INFRADEV_DATA_DIR to a folder on a larger disk; ${otherwise}`,
    );
  }
  const unreachable =
    /NewConnectionError|Failed to establish a new connection|Temporary failure in name resolution|Name or service not known|ConnectTimeout|Connection (refused|timed out)|ProxyError|Max retries exceeded/;
  if (unreachable.test(stderr)) {
    return unavailable(
      "python.index-unreachable",
      `pip could not reach a package index to install ${wanted}`,
      folder,
      `let pip reach one (PIP_INDEX_URL names another, PIP_FIND_LINKS a folder of wheels); ${otherwise}`,
    );
  }
  const missing = /No matching distribution found for ([^\s]+)/.exec(stderr)?.[1];
  if (missing !== undefined) {
    return unavailable(
      "python.no-wheel",
      `no ${missing} is there for Python ${base.version} on ${platform()} ${arch()}`,
      base.executable,
      `use another version of Python (PATH or INFRADEV_PYTHON) or another index (PIP_INDEX_URL); ${otherwise}`,
    );
  }
  return unavailable(
    "python.install",
    `${wanted} could not be installed: ${lastLine(stderr)}`,
    folder,
    `mend what pip says and start again; ${otherwise}`,
  );
}

async function demandSpace(folder: string, bytes: number): Promise<void> {
  const parent = join(folder, "..");
  await mkdir(parent, { recursive: true });
  const stats = await statfs(parent);
  const free = stats.bavail * stats.bsize;
  if (free >= bytes) return;
  throw unavailable(
    "python.no-space",
    `${(free / gib).toFixed(1)} GiB are free, ${(bytes / gib).toFixed(1)} GiB are needed while packages are installed`,
    parent,
    "free disk space, or set INFRADEV_DATA_DIR to a folder on a larger disk",
  );
}

/** Waits until no other process holds the lock file; one whose process is gone is taken over. */
async function lockFolder(path: string, onProgress?: (text: string) => void): Promise<() => Promise<void>> {
  await mkdir(join(path, ".."), { recursive: true });
  const own = `infradev-${processOwner}-`;
  for (let told = false; ; ) {
    try {
      const file = await open(path, "wx");
      await file.writeFile(own);
      await file.close();
      return async () => {
        if ((await readFile(path, "utf8").catch(() => "")) === own) await rm(path, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = await readFile(path, "utf8").catch(() => "");
    if (isAbandoned(holder) === true || (holder === "" && (await isOlderThan(path, unwrittenMs)))) {
      // Only what was read is removed: another process may have taken the lock over meanwhile
      if ((await readFile(path, "utf8").catch(() => "")) === holder) await rm(path, { force: true });
      continue;
    }
    if (!told)
      onProgress?.(
        `waiting for another process that is installing the same packages (${holder}; if there is none, remove ${path})`,
      );
    told = true;
    await sleep(lockWaitMs);
  }
}

const isOlderThan = async (path: string, ageMs: number): Promise<boolean> => {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > ageMs;
};

const lastLine = (text: string): string => text.trim().split("\n").at(-1) || "no message";
