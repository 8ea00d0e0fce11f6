import type { Group } from "@/lib/contract/task";
import type { GpuGrant } from "../gpus/grant";
import { gpuChoiceEnv, gpuLaunchEnv } from "../gpus/launch-env";
import { testFileOf } from "../suites/load";
import type { CanaryPlan } from "./canaries";

/** Fixed for every launch, so that a replay gives the same order of sets and the same hashes. */
export const launchEnv = {
  PYTHONHASHSEED: "0",
  PYTHONUNBUFFERED: "1",
  PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1",
  OMP_NUM_THREADS: "1",
} as const;

/**
 * The environment of a group's launches before what is each rank's own. The grader's variables stand above the group's;
 * `task.env-refused` tells a task's author before (see `refusedVariable`).
 */
export function environmentOf(
  group: Group,
  baseEnv: Readonly<Record<string, string>>,
  gpus: GpuGrant | null,
): Record<string, string> {
  const { TMPDIR: temporary = "/tmp" } = baseEnv;
  return { ...gpuLaunchEnv(gpus, temporary), ...group.env, ...baseEnv, ...launchEnv, ...gpuChoiceEnv(gpus) };
}

/** Where a launch sees the checkout, the probes and the guard's files. */
export type LaunchPaths = { repository: string; probes: string; guard: string };

/** Arguments of pytest for a group's tests; a group of programs has none. */
export function argumentsOf(
  group: Group,
  tests: readonly string[],
  canaries: CanaryPlan,
  { repository, probes, guard }: LaunchPaths,
): string[] {
  if (group.launcher === "script") return [];
  const usesProbes = tests.some((id) => id.startsWith("probes/"));
  const files = [...new Set(tests.map(testFileOf))].map((file) =>
    file.startsWith("probes/") ? `${probes}/${file.slice("probes/".length)}` : `${repository}/${file}`,
  );
  return [
    "-c",
    `${guard}/settings.ini`,
    `--rootdir=${usesProbes ? probes : repository}`,
    ...(group.conftest_root === undefined ? [] : [`--confcutdir=${repository}/${group.conftest_root}`]),
    "-p",
    "no:cacheprovider",
    "--capture=no",
    "--tb=short",
    "--color=no",
    "-q",
    "-r",
    "N",
    "--continue-on-collection-errors",
    ...files,
    ...canaries.files.map((file) => `${guard}/${file}`),
  ];
}

/** The command that stands for a launch in `run.lock.json`. */
export const commandOf = (group: Group, tests: readonly string[], args: readonly string[]): string[] =>
  group.launcher === "script" ? ["script", ...tests] : ["pytest", ...args];
