import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { environment } from "../environment";
import { type DriverFiles, findDriverFiles } from "../gpus/driver-files";
import type { GpuGrant } from "../gpus/grant";
import { capture } from "../processes/capture";
import { processOwner } from "../processes/owner";
import { createControlGroup } from "./control-group";
import type { ExecutorKind, ExecutorSession, LaunchRequest, Mount, PrepareOptions, RunningLaunch } from "./executor";
import { closeWithin, startLaunchProcess } from "./launch-process";
import { launcherFolder } from "./python-folder";

const sandboxRoot = "/grade";
/** How long the kernel may take to end what a sandbox held: more than that takes only what waits inside of a driver. */
const closedWithinMs = 60_000;
const runnerMount: Mount = { hostPath: launcherFolder, name: "runner" };

/** Files outside /usr that a dynamic linker or a C library reads; none tells who or where the host is. */
const systemFiles = ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"];

function findBwrap(): string | null {
  for (const folder of environment.path.split(delimiter)) {
    const program = join(folder, "bwrap");
    if (folder !== "" && existsSync(program)) return program;
  }
  return null;
}

/** The part of the file system that programs need: /usr, what the root links to it, and the Python used. */
function systemArguments(pythonFolders: readonly string[]): string[] {
  const args = ["--ro-bind", "/usr", "/usr"];
  for (const name of ["bin", "sbin", "lib", "lib32", "lib64", "libx32"]) {
    const path = `/${name}`;
    if (!existsSync(path)) continue;
    if (lstatSync(path).isSymbolicLink()) args.push("--symlink", readlinkSync(path), path);
    else args.push("--ro-bind", path, path);
  }
  // Programs ask who they are (torch does, to name its caches): the only user in a sandbox has a name.
  for (const name of ["passwd", "group"]) args.push("--ro-bind", join(launcherFolder, name), `/etc/${name}`);
  for (const path of systemFiles) if (existsSync(path)) args.push("--ro-bind", realpathSync(path), path);
  for (const folder of outermost(pythonFolders)) {
    if (existsSync(folder) && folder !== "/usr" && !folder.startsWith("/usr/")) args.push("--ro-bind", folder, folder);
  }
  return args;
}

function outermost(folders: readonly string[]): string[] {
  const distinct = [...new Set(folders)].filter((folder) => folder !== "/");
  return distinct.filter((folder) => !distinct.some((other) => folder.startsWith(`${other}/`)));
}

/** The driver's common nodes, the nodes of the granted GPUs and of no other, and the driver's libraries. */
function gpuArguments(gpus: GpuGrant, driver: DriverFiles): string[] {
  const nodes = [...driver.devicePaths, ...gpus.devices.flatMap(({ devicePaths }) => devicePaths)];
  return [
    ...nodes.flatMap((path) => ["--dev-bind", path, path]),
    ...[...driver.folders, ...driver.systemPaths].flatMap((path) => ["--ro-bind", path, path]),
    ...(driver.searchPath.length > 0 ? ["--setenv", "LD_LIBRARY_PATH", driver.searchPath.join(":")] : []),
  ];
}

const isolation = [
  "--unshare-user",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-net",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--hostname",
  "sandbox",
  "--uid",
  "1000",
  "--gid",
  "1000",
  "--die-with-parent",
  "--new-session",
  "--clearenv",
];

/**
 * The namespace's own /proc, its settings read-only: to the kernel a sandbox that root started still belongs to root,
 * who may write them (`core_pattern` names a program that then runs outside of every sandbox).
 */
const ownProc = ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"];

function unavailable(message: string, remedy: string): InfraDevError {
  return new InfraDevError("unavailable", {
    code: "executor.bwrap-unavailable",
    message,
    where: "executor 'bwrap'",
    rule: "the sandbox needs bubblewrap and user namespaces; --executor process does without, for development",
    remedy,
  });
}

/** Whether bubblewrap can make a sandbox here; throws `executor.bwrap-unavailable` with the reason where not. */
export async function checkBwrap(): Promise<{ program: string; version: string }> {
  const program = findBwrap();
  if (program === null) {
    throw unavailable(
      "bubblewrap is not installed: there is no bwrap in PATH",
      "install it (Debian and Ubuntu: apt install bubblewrap)",
    );
  }
  const tried = await capture(
    program,
    [...isolation, ...systemArguments([]), ...ownProc, "--dev", "/dev", "--tmpfs", "/tmp", "/bin/sh", "-c", ":"],
    { env: { PATH: "/usr/bin:/bin" }, timeoutMs: 20_000 },
  ).catch((cause: NodeJS.ErrnoException) => {
    throw unavailable(`bubblewrap cannot be started (${cause.code ?? cause.message})`, `mend or reinstall ${program}`);
  });
  if (tried.code !== 0) {
    throw unavailable(
      `bubblewrap cannot make a sandbox here: ${tried.stderr.trim().split("\n")[0] || "no message"}`,
      "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
    );
  }
  const version = await capture(program, ["--version"], { timeoutMs: 10_000 });
  return { program, version: version.stdout.trim().replace(/^bubblewrap /, "") };
}

let checked: Promise<{ program: string; version: string }> | null = null;

/** Namespaces for users, processes, IPC, names and network; a read-only root; private /tmp and home. */
export const bwrapExecutor: ExecutorKind = {
  name: "bwrap",
  async prepare({ python }: PrepareOptions): Promise<ExecutorSession> {
    checked ??= checkBwrap();
    checked.catch(() => {
      checked = null;
    });
    const { program } = await checked;
    const pathOf = (mount: Mount): string => `${sandboxRoot}/${mount.name}`;
    const system = systemArguments([...python.folders, dirname(python.executable)]);
    return {
      name: "bwrap",
      sandboxed: true,
      python,
      pathOf,
      baseEnv: {
        PATH: `${dirname(python.executable)}:/usr/bin:/bin`,
        HOME: "/tmp/home",
        USER: "sandbox",
        LOGNAME: "sandbox",
        TMPDIR: "/tmp",
        LANG: "C.UTF-8",
        LC_ALL: "C.UTF-8",
        TZ: "UTC",
        PYTHONDONTWRITEBYTECODE: "1",
        PYTHONNOUSERSITE: "1",
      },
      start: async (request) => await startSandbox(program, system, python.executable, pathOf, request),
      collect: async () => undefined,
    };
  },
};

async function startSandbox(
  program: string,
  system: readonly string[],
  python: string,
  pathOf: (mount: Mount) => string,
  request: LaunchRequest,
): Promise<RunningLaunch> {
  const processes = 256 + 256 * request.nproc;
  const group =
    request.memoryMb === null
      ? null
      : await createControlGroup(`infradev-${processOwner}-${randomBytes(4).toString("hex")}`, {
          memoryMb: request.memoryMb,
          processes,
        });
  const driver = request.gpus === null ? null : await findDriverFiles();
  const tmpfsBytes = String((request.memoryMb ?? 4096) * 1024 * 1024);
  const args = [
    ...isolation,
    ...ownProc,
    "--dev",
    "/dev",
    "--size",
    String(request.shmMb * 1024 * 1024),
    "--tmpfs",
    "/dev/shm",
    "--size",
    tmpfsBytes,
    "--tmpfs",
    "/tmp",
    "--dir",
    "/tmp/home",
    // After /tmp, since a Python may well lie below it.
    ...system,
    ...(request.gpus === null || driver === null ? [] : gpuArguments(request.gpus, driver)),
    ...[...request.mounts, runnerMount].flatMap((mount) => ["--ro-bind", mount.hostPath, pathOf(mount)]),
    "--remount-ro",
    "/",
    ...Object.entries(request.env).flatMap(([key, value]) => ["--setenv", key, value]),
    "--chdir",
    request.cwd,
    python,
    "-B",
    "-s",
    `${pathOf(runnerMount)}/infradev_launch.py`,
  ];
  const enter = (group?.entries ?? []).map((path) => `echo $$ > ${path}`).join(" && ");
  const launched = await startLaunchProcess(request, {
    ...(group === null
      ? { program, args }
      : { program: "/bin/sh", args: ["-c", `${enter} && exec "$0" "$@"`, program, ...args] }),
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
    limits: {
      // CUDA reserves far more of its address space than it ever uses, which this limit counts.
      dataBytes:
        group === null && request.memoryMb !== null && request.gpus === null ? request.memoryMb * 1024 * 1024 : null,
      processes: group === null ? processes : null,
    },
    privateNetwork: true,
  });
  const exited = new Promise<void>((resolve) => launched.child.once("exit", () => resolve()));
  return {
    pid: launched.child.pid,
    release: launched.release,
    signal(kind) {
      // The end of bubblewrap ends its process namespace, and with it every process in it.
      if (kind === "kill") launched.child.kill("SIGKILL");
      else launched.tell(kind);
    },
    async wait() {
      await exited;
      const ended = await closeWithin(launched, closedWithinMs);
      const measured = (await group?.measure()) ?? { memoryPeakMb: null, outOfMemoryKills: null };
      await group?.remove();
      return { ...ended, ...measured };
    },
  };
}
