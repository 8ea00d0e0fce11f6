/** The one place where the runner reads its process's environment. */
export const environment = {
  path: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
  noColor: process.env.NO_COLOR !== undefined && process.env.NO_COLOR !== "",
  /** Where the runners of this host, of every user and clone, note which GPUs are in quarantine. */
  gpuFolder: process.env.INFRADEV_GPU_DIR || "/dev/shm/infradev-gpus",
  /** All of it: what names a Python (`INFRADEV_PYTHON`, `PATH`), and the values that evidence must not hold. */
  variables: process.env,
} as const;
