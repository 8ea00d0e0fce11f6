import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { z } from "zod";
import type { LoadedTask } from "../suites/load";

const defaultMemoryMb = 4096;

const harborEnvironment = z.object({
  environment: z.object({ memory_mb: z.number().positive().optional(), shm_mb: z.int().positive().optional() }),
});

const harborVerifier = z.object({ verifier: z.object({ timeout_sec: z.number().positive() }) });

/** Time for all launches that decide outcomes: the groups' limits together, or Harbor's `[verifier]` limit where less. */
export async function timeLimitSec({ dir, manifest }: LoadedTask): Promise<number> {
  const groups = manifest.groups.reduce((sum, group) => sum + group.timeout_sec, 0);
  const text = await readFile(join(dir, "task.toml"), "utf8");
  return Math.min(groups, harborVerifier.safeParse(parseToml(text)).data?.verifier.timeout_sec ?? groups);
}

/** Harbor's `[environment] memory_mb`, which limits a launch here too, and our `shm_mb`, by default as much. */
export async function environmentLimits(taskDir: string): Promise<{ memoryMb: number; shmMb: number }> {
  const text = await readFile(join(taskDir, "task.toml"), "utf8");
  const environment = harborEnvironment.safeParse(parseToml(text)).data?.environment;
  const memoryMb = environment?.memory_mb ?? defaultMemoryMb;
  return { memoryMb, shmMb: environment?.shm_mb ?? Math.floor(memoryMb) };
}
