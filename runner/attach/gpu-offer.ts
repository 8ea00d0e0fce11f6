import type { ClaimRequest, JobSpec } from "@/lib/contract/job";
import { canServe } from "../gpus/for-task";
import type { GpuGrant } from "../gpus/grant";
import type { GpuPool } from "../gpus/pool";
import type { LoadedTask } from "../suites/load";

type Offer = Pick<ClaimRequest, "freeGpuUuids" | "gradingDigests">;

/** What an attached host offers of its GPUs, and what its jobs get of them. */
export class GpuOffer {
  private readonly pool: GpuPool;
  private readonly tasks: ReadonlyMap<string, LoadedTask>;
  private readonly needed: boolean;

  /** @param tasks by their grading digests */
  constructor(pool: GpuPool, tasks: ReadonlyMap<string, LoadedTask>) {
    this.pool = pool;
    this.tasks = tasks;
    this.needed = [...tasks.values()].some((task) => task.manifest.task.gpusGrade > 0);
  }

  /** The free healthy GPUs at this moment, and the tasks whose standard launch this host can give at all. */
  async now(): Promise<Offer> {
    if (!this.needed) return { freeGpuUuids: [], gradingDigests: [...this.tasks.keys()] };
    const host = await this.pool.look();
    const servable = [...this.tasks].filter(([, task]) => canServe(task, host));
    return {
      freeGpuUuids: host.free.map(({ uuid }) => uuid),
      gradingDigests: servable.map(([digest]) => digest),
    };
  }

  /** Runs a job's grading with exactly the GPUs that its lease says, which are this process's alone meanwhile. */
  async withGpus<T>(
    job: { spec: Pick<JobSpec, "task">; task: LoadedTask; signal: AbortSignal },
    grade: (grant: GpuGrant | null) => Promise<T>,
  ): Promise<T> {
    const { gpus } = job.spec.task;
    if (gpus === 0) return await grade(null);
    const minMemoryMb = job.task.metadata.min_gpu_memory_mb;
    const grant = await this.pool.acquire(gpus, { minMemoryMb, signal: job.signal });
    try {
      return await grade(grant);
    } finally {
      await grant.release();
    }
  }
}
