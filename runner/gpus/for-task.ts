import { InfraDevError } from "@/lib/contract/errors";
import { manifestForGpus } from "@/lib/contract/task";
import type { LoadedTask } from "../suites/load";
import { type GpuGrant, gpusInWords } from "./grant";
import { type GpuPool, type HostGpus, servableGpus } from "./pool";

/** A number of GPUs, or as many of those that the task's standard launch has as are free. */
export type GpuChoice = number | "auto";

/**
 * GPUs for a grading outside of a lease, and a sentence about the profile where it is not the task's standard one.
 * Throws `usage.gpus` where more are asked for than the task's launches have, `gpu.profile-empty` where so few leave no
 * test required, and what `GpuPool.acquire` throws.
 */
export async function acquireForTask(
  pool: GpuPool,
  task: LoadedTask,
  choice: GpuChoice,
  signal: AbortSignal,
): Promise<{ grant: GpuGrant | null; profile: string | null }> {
  const { gpusGrade, slug } = task.manifest.task;
  const minMemoryMb = task.metadata.min_gpu_memory_mb;
  if (choice !== "auto" && choice > gpusGrade) {
    throw new InfraDevError("invalid", {
      code: "usage.gpus",
      message: `the task's standard launch has ${gpusInWords(gpusGrade)}, not ${choice}`,
      where: "--gpus",
      rule: "a launch has at most as many GPUs as its task asks for",
      remedy: gpusGrade === 0 ? "leave --gpus out" : `give --gpus ${gpusGrade}, fewer, or auto`,
    });
  }
  const count = choice === "auto" ? await countFree(pool, gpusGrade, minMemoryMb) : choice;
  const manifest = manifestForGpus(task.manifest, count);
  const required = manifest.tests.filter((test) => test.required).length;
  if (required === 0) {
    throw new InfraDevError("unavailable", {
      code: "gpu.profile-empty",
      message: `with ${gpusInWords(count)} none of the task's tests is required`,
      where: slug,
      rule: "a grading has at least one required test",
      remedy: `grade on a host with ${gpusInWords(gpusGrade)} free (runner doctor says what keeps them)`,
    });
  }
  const left = task.manifest.tests.filter((test) => test.required).length - required;
  const profile =
    count === gpusGrade
      ? null
      : `profile ${gpusInWords(count)} of ${gpusGrade}: ${left} test${left === 1 ? " that needs" : "s that need"} more ${left === 1 ? "is" : "are"} not required; such a bundle does not count on a board`;
  const grant = count === 0 ? null : await pool.acquire(count, { minMemoryMb, signal });
  return { grant, profile };
}

async function countFree(pool: GpuPool, most: number, minMemoryMb: number): Promise<number> {
  if (most === 0) return 0;
  const { free } = await pool.look();
  return Math.min(most, free.filter(({ memoryMb }) => memoryMb >= minMemoryMb).length);
}

/** Whether this host can ever give a task the GPUs of its standard launch. */
export function canServe(task: LoadedTask, host: HostGpus): boolean {
  const { gpusGrade } = task.manifest.task;
  return servableGpus(host).filter(({ memoryMb }) => memoryMb >= task.metadata.min_gpu_memory_mb).length >= gpusGrade;
}
