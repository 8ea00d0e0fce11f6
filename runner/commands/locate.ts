import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { InfraDevError } from "@/lib/contract/errors";

/** The bundled suite, where this program runs beside it: from the repository, or from dist/ inside it. */
function bundledSuite(): string | null {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [join(here, "../suites/infradev-mini"), join(here, "../runner/suites/infradev-mini")];
  return places.find((place) => existsSync(join(place, "suite.toml"))) ?? null;
}

/** Directory of a suite: the one given, else the bundled one. */
export function locateSuite(suite: string | undefined): string {
  const dir = suite === undefined ? bundledSuite() : resolve(suite);
  if (dir !== null && existsSync(join(dir, "suite.toml"))) return dir;
  throw new InfraDevError("not-found", {
    code: "usage.suite-missing",
    message: dir === null ? "no suite stands beside this program" : "there is no suite.toml in this directory",
    where: dir ?? "--suite",
    rule: "a suite is a directory with suite.toml and tasks/",
    remedy: "name a suite's directory with --suite",
  });
}

/** Directory of a task, named by its path or by its slug within a suite. */
export function locateTask(task: string, suite: string | undefined): string {
  if (existsSync(join(resolve(task), "task.toml"))) return resolve(task);
  if (!/^[a-z0-9.-]+$/.test(task)) {
    throw new InfraDevError("not-found", {
      code: "usage.task-missing",
      message: `'${task}' is no task directory`,
      where: resolve(task),
      rule: "a task is named by its directory, or by its slug within a suite",
      remedy: "correct the path; a task directory holds task.toml",
    });
  }
  const suiteDir = locateSuite(suite);
  const dir = join(suiteDir, "tasks", task);
  if (existsSync(join(dir, "task.toml"))) return dir;
  throw new InfraDevError("not-found", {
    code: "usage.task-missing",
    message: `the suite has no task '${task}'`,
    where: dir,
    rule: "a task is named by its directory, or by its slug within a suite",
    remedy: `name one of the folders of ${join(suiteDir, "tasks")}`,
  });
}
