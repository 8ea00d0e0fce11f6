import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Launch } from "@/lib/contract/result";
import { launcherFolder } from "../executors/python-folder";
import { launchEnv } from "../grading/launch-plan";
import type { PythonRuntime } from "../grading/python-runtime";
import type { Workspace } from "../grading/workspace";
import { captureTree } from "../processes/capture-tree";

/**
 * Launches as somebody would start them by hand in a checkout that is ready, outside of any sandbox: the same ids and
 * variables, as many `python -m pytest` as ranks, or torchrun in front of them. Throws where a rank fails, and what
 * `signal` says where it aborts; no process of them is left then.
 */
export async function runByHand(
  launches: readonly Launch[],
  options: {
    python: PythonRuntime;
    workspace: Workspace;
    /** A settings file of pytest without settings. */
    settings: string;
    gpuUuids?: readonly string[];
    signal?: AbortSignal;
  },
): Promise<void> {
  for (const launch of launches) {
    options.signal?.throwIfAborted();
    if (launch.launcher === "torchrun") await startTorchrun(launch, options);
    else await startRanks(launch, options);
  }
}

/** The longest that the ranks of one launch may take. */
const timeoutMs = 300_000;

type Options = Parameters<typeof runByHand>[1];

function pytestArguments(launch: Launch, { workspace, settings }: Options): string[] {
  const usesProbes = launch.tests.some((id) => id.startsWith("probes/"));
  const ids = launch.tests.map((id) =>
    id.startsWith("probes/") ? join(workspace.probes, id.slice("probes/".length)) : join(workspace.repository, id),
  );
  return [
    ...["pytest", "-c", settings, `--rootdir=${usesProbes ? workspace.probes : workspace.repository}`],
    ...["-p", "no:cacheprovider", "--capture=no", "--tb=short", "--color=no", "-q", ...ids],
  ];
}

const environmentOf = ({ workspace, gpuUuids, python }: Options): Record<string, string> => ({
  ...launchEnv,
  PATH: `${join(python.executable, "..")}:/usr/bin:/bin`,
  HOME: "/tmp",
  LC_ALL: "C.UTF-8",
  TZ: "UTC",
  PYTHONPATH: `${workspace.repository}:${launcherFolder}`,
  CUDA_VISIBLE_DEVICES: gpuUuids?.join(",") ?? "",
  NCCL_NVLS_ENABLE: "0",
});

async function startTorchrun(launch: Launch, options: Options): Promise<void> {
  const { code, stdout, stderr } = await captureTree(
    options.python.executable,
    [
      ...["-B", "-s", "-m", "torch.distributed.run", `--nproc-per-node=${launch.nproc}`],
      ...["--master-addr=127.0.0.1", `--master-port=${await freePort()}`, "-m"],
      ...pytestArguments(launch, options),
    ],
    { cwd: options.workspace.repository, timeoutMs, signal: options.signal, env: environmentOf(options) },
  );
  if (code !== 0) throw new Error(`torchrun by hand, ${launch.group}: code ${code}\n${(stdout + stderr).slice(-3000)}`);
}

async function startRanks(launch: Launch, options: Options): Promise<void> {
  const port = await freePort();
  const ranks = Array.from({ length: launch.nproc }, (_, rank) =>
    captureTree(options.python.executable, ["-B", "-s", "-m", ...pytestArguments(launch, options)], {
      cwd: options.workspace.repository,
      timeoutMs,
      signal: options.signal,
      env: {
        ...environmentOf(options),
        RANK: String(rank),
        LOCAL_RANK: String(rank),
        WORLD_SIZE: String(launch.nproc),
        LOCAL_WORLD_SIZE: String(launch.nproc),
        MASTER_ADDR: "127.0.0.1",
        MASTER_PORT: String(port),
      },
    }),
  );
  for (const [rank, ended] of (await Promise.allSettled(ranks)).entries()) {
    if (ended.status === "rejected") throw ended.reason;
    const { code, stdout } = ended.value;
    if (code !== 0)
      throw new Error(`by hand, rank ${rank} of ${launch.group} ended with ${code}: ${stdout.slice(-2000)}`);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
