import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
// From source this file stands in runner/executors/; bundled into one file, `python/` stands beside that file.
const candidates = [join(here, "..", "python"), join(here, "python")];

/** The folder with the launcher and the pytest plugin. */
export const launcherFolder: string =
  candidates.find((folder) => existsSync(join(folder, "infradev_launch.py"))) ?? join(here, "..", "python");
