import { spawn } from "node:child_process";
import { InfraDevError } from "@/lib/contract/errors";
import { environment } from "../environment";

export type GitResult = { code: number | null; stdout: Buffer; stderr: string };

/** A repository whose objects lie apart from its work tree, so that no `.git` reaches the graded code. */
export type GitDir = { gitDir: string; workTree: string };

/**
 * Runs git with a fixed environment: no configuration of the host's, no hooks, no conversion of line ends, dates and
 * names that do not vary. Throws `environment.git` where git cannot be started.
 */
export async function git(dir: GitDir, args: readonly string[], input?: Uint8Array): Promise<GitResult> {
  const program = spawn("git", [...fixedSettings, ...args], {
    cwd: dir.workTree,
    env: {
      PATH: environment.path,
      HOME: "/nonexistent",
      LC_ALL: "C",
      GIT_DIR: dir.gitDir,
      GIT_WORK_TREE: dir.workTree,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      ...author,
    } as unknown as NodeJS.ProcessEnv,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  program.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  program.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  program.stdin.on("error", () => undefined);
  program.stdin.end(input ?? "");
  return await new Promise((resolve, reject) => {
    program.once("error", (cause) =>
      reject(
        new InfraDevError(
          "unavailable",
          {
            code: "environment.git",
            message: `git cannot be started: ${cause.message}`,
            where: "PATH",
            rule: "the runner makes checkouts with git",
            remedy: "install git 2.30 or newer",
          },
          { cause },
        ),
      ),
    );
    program.once("close", (code) =>
      resolve({ code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString("utf8") }),
    );
  });
}

/** Like `git`, for a command that fails only where the host is at fault. Throws `environment.git`. */
export async function gitOrThrow(dir: GitDir, args: readonly string[], input?: Uint8Array): Promise<Buffer> {
  const result = await git(dir, args, input);
  if (result.code === 0) return result.stdout;
  throw new InfraDevError("unavailable", {
    code: "environment.git",
    message: `git ${args[0]} failed: ${result.stderr.trim().split("\n").slice(0, 3).join("; ") || `code ${result.code}`}`,
    where: dir.workTree,
    rule: "the runner makes checkouts with git",
    remedy: "check free space and permissions of the working folder, and that git is 2.30 or newer",
  });
}

const date = "2000-01-01T00:00:00Z";
const author = {
  GIT_AUTHOR_NAME: "infradev",
  GIT_AUTHOR_EMAIL: "infradev@invalid",
  GIT_AUTHOR_DATE: date,
  GIT_COMMITTER_NAME: "infradev",
  GIT_COMMITTER_EMAIL: "infradev@invalid",
  GIT_COMMITTER_DATE: date,
};

const fixedSettings = [
  "core.autocrlf=false",
  "core.hooksPath=/dev/null",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.symlinks=true",
  "core.fileMode=true",
  "core.precomposeUnicode=false",
  "core.protectNTFS=true",
  "core.protectHFS=true",
  "safe.directory=*",
  "gc.auto=0",
  "init.defaultBranch=base",
].flatMap((setting) => ["-c", setting]);
