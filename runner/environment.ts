/** The one place where the runner reads its process's environment. */
export const environment = {
  path: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
  noColor: process.env.NO_COLOR !== undefined && process.env.NO_COLOR !== "",
  /** Interpreter to use in place of the one that would be found. */
  python: process.env.INFRADEV_PYTHON || null,
} as const;
