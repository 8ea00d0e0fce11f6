import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findDriverFiles } from "../gpus/driver-files";
import type { ExecutorKind, ExecutorSession, LaunchRequest, Mount, PrepareOptions, RunningLaunch } from "./executor";
import { closeWithin, startLaunchProcess, within } from "./launch-process";
import { launcherFolder } from "./python-folder";

const markerVariable = "INFRADEV_LAUNCH";
const endWithinMs = 2_000;
const closedWithinMs = 5_000;

/** No isolation: for development. Its results say that they were not sandboxed. */
export const processExecutor: ExecutorKind = {
  name: "process",
  async prepare({ python, workDir }: PrepareOptions): Promise<ExecutorSession> {
    const temporary = join(workDir, "tmp");
    const home = join(workDir, "home");
    await mkdir(temporary, { recursive: true });
    await mkdir(home, { recursive: true });
    const pathOf = (mount: Mount): string => mount.hostPath;
    return {
      name: "process",
      sandboxed: false,
      python,
      pathOf,
      baseEnv: {
        PATH: `${dirname(python.executable)}:/usr/bin:/bin`,
        HOME: home,
        TMPDIR: temporary,
        LANG: "C.UTF-8",
        LC_ALL: "C.UTF-8",
        TZ: "UTC",
        PYTHONDONTWRITEBYTECODE: "1",
        PYTHONNOUSERSITE: "1",
      },
      start: async (request) => await startProcess(python.executable, request),
      collect: async () => {
        await rm(temporary, { recursive: true, force: true });
        await rm(home, { recursive: true, force: true });
      },
    };
  },
};

async function startProcess(python: string, request: LaunchRequest): Promise<RunningLaunch> {
  const marker = randomBytes(16).toString("hex");
  const { searchPath } = request.gpus === null ? { searchPath: [] } : await findDriverFiles();
  const launched = await startLaunchProcess(request, {
    program: python,
    args: ["-B", "-s", join(launcherFolder, "infradev_launch.py")],
    env: {
      ...request.env,
      ...(searchPath.length > 0 ? { LD_LIBRARY_PATH: searchPath.join(":") } : {}),
      [markerVariable]: marker,
    },
    cwd: request.cwd,
    detached: true,
    limits: {
      // CUDA reserves far more of its address space than it ever uses, which this limit counts.
      dataBytes: request.memoryMb === null || request.gpus !== null ? null : request.memoryMb * 1024 * 1024,
      processes: null,
    },
    privateNetwork: false,
  });
  const exited = new Promise<void>((resolve) => launched.child.once("exit", () => resolve()));
  return {
    pid: launched.child.pid,
    release: launched.release,
    signal(kind) {
      launched.tell(kind);
      if (kind !== "kill") return;
      // The launcher ends its ranks and what they left behind; where it cannot any more, the group is ended from here.
      void within(exited, endWithinMs).then((ended) => {
        if (!ended) killGroup(launched.child.pid);
      });
    },
    async wait() {
      await exited;
      killGroup(launched.child.pid);
      let closed = await within(launched.closed, 200);
      let left = closed ? 0 : await killMarked(marker);
      for (let attempt = 0; attempt < 20 && (!closed || left > 0); attempt += 1) {
        closed = await within(launched.closed, closedWithinMs / 20);
        left = await killMarked(marker);
      }
      const ended = await closeWithin(launched, 0);
      return { ...ended, memoryPeakMb: null, outOfMemoryKills: null, clean: ended.clean && left === 0 };
    },
  };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // the group is gone
  }
}

/** Ends processes that left the group and still carry the launch's marker in their environment; gives their number. */
async function killMarked(marker: string): Promise<number> {
  const wanted = Buffer.from(`${markerVariable}=${marker}`);
  let killed = 0;
  for (const entry of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue;
    const environment = await readFile(`/proc/${entry}/environ`).catch(() => null);
    if (environment === null || !environment.includes(wanted)) continue;
    try {
      process.kill(Number(entry), "SIGKILL");
      killed += 1;
    } catch {
      // it ended meanwhile
    }
  }
  return killed;
}
