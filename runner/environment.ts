/** The one place where the runner reads its process's environment. */
export const environment = {
  path: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
  noColor: process.env.NO_COLOR !== undefined && process.env.NO_COLOR !== "",
  /** All of it: what names a Python (`INFRADEV_PYTHON`, `PATH`), and the values that evidence must not hold. */
  variables: process.env,
} as const;
