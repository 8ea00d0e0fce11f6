import { existsSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { environment } from "../../environment";
import { capture } from "../../processes/capture";
import { dataFolder } from "./folders";
import { upstreamProblem } from "./problems";

/** Local git directories (bare, or with a work tree) by repository, `owner/name`. */
export type Mirrors = ReadonlyMap<string, string>;

const entryForm = /^([\w.-]+\/[\w.-]+)=(.+)$/;

/**
 * Reads `owner/name=DIR` entries. Throws `upstream.mirror-form` on anything else, and on a repository that is named
 * twice with different folders.
 * @param where the option or variable that the entries come from
 */
export function parseMirrors(entries: readonly string[], where = "--mirror"): Mirrors {
  const mirrors = new Map<string, string>();
  for (const entry of entries) {
    const [, repository = "", dir = ""] = entryForm.exec(entry) ?? [];
    const earlier = mirrors.get(repository);
    if (repository === "" || (earlier !== undefined && earlier !== resolve(dir))) {
      throw upstreamProblem("invalid", "mirror-form", {
        message: earlier === undefined ? `'${entry}' names no mirror` : `'${repository}' has two mirrors`,
        where,
        rule: "a mirror is given as owner/name=DIR, once for each repository",
        remedy: `for example ${where} NVIDIA/Megatron-LM=/data/mirrors/Megatron-LM.git`,
      });
    }
    mirrors.set(repository, resolve(dir));
  }
  return mirrors;
}

function candidatesOf(repository: string, given: Mirrors): string[] {
  const named = given.get(repository);
  if (named !== undefined) return [named];
  const listed = (environment.variables.INFRADEV_MIRRORS ?? "").split(delimiter).filter((entry) => entry !== "");
  const fromVariable = parseMirrors(listed, "INFRADEV_MIRRORS").get(repository);
  if (fromVariable !== undefined) return [fromVariable];
  const folder = join(dataFolder(), "mirrors", repository);
  return [`${folder}.git`, folder].filter((dir) => existsSync(dir));
}

/** Settings and environment under which a mirror is only read: no configuration of the host's, no network, no prompt. */
export const mirrorGit = {
  settings: ["-c", "safe.directory=*", "-c", "core.quotePath=false", "-c", "protocol.allow=never"],
  env: (dir: string): Record<string, string> => ({
    PATH: environment.path,
    HOME: "/nonexistent",
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_CEILING_DIRECTORIES: dirname(dir),
  }),
} as const;

/**
 * The git directory of a repository's mirror: the one given, else that of INFRADEV_MIRRORS, else
 * `mirrors/<owner>/<name>[.git]` of the data folder. Throws `upstream.no-mirror` where none is given and
 * `upstream.not-a-mirror` where the folder is no git repository.
 */
export async function findMirror(repository: string, given: Mirrors): Promise<string> {
  const [dir] = candidatesOf(repository, given);
  const remedy =
    `git clone --bare https://github.com/${repository} DIR, then --mirror ${repository}=DIR ` +
    `(or INFRADEV_MIRRORS=${repository}=DIR, or clone into ${join(dataFolder(), "mirrors", repository)}.git)`;
  if (dir === undefined) {
    throw upstreamProblem("not-found", "no-mirror", {
      message: `no mirror of ${repository} is given`,
      where: repository,
      rule: "the task's sources are read from a local clone or mirror of its repository",
      remedy,
    });
  }
  const found = existsSync(dir)
    ? await capture("git", [...mirrorGit.settings, "rev-parse", "--absolute-git-dir"], {
        cwd: dir,
        env: mirrorGit.env(dir),
      })
    : { code: null, stdout: "", stderr: "there is no such folder" };
  if (found.code === 0) return found.stdout.trim();
  throw upstreamProblem("not-found", "not-a-mirror", {
    message: `the mirror of ${repository} is no git repository: ${found.stderr.trim().split("\n")[0]}`,
    where: dir,
    rule: "a mirror is any git directory, bare or with a work tree",
    remedy,
  });
}

/** Whether a repository's history was cut off when it was cloned. */
export async function isShallow(gitDir: string): Promise<boolean> {
  const args = [...mirrorGit.settings, "--git-dir", gitDir, "rev-parse", "--is-shallow-repository"];
  const answer = await capture("git", args, { env: mirrorGit.env(gitDir) });
  return answer.stdout.trim() === "true";
}
