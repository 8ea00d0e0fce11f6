import { cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";
import { environment } from "../environment";
import { capture } from "../processes/capture";
import { listFiles, type SourceFile } from "./files";

const gitEnvironment = (): Record<string, string> => ({
  PATH: environment.path,
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CEILING_DIRECTORIES: "/",
  LC_ALL: "C",
});

/** Copies a code base without what interpreters left behind. */
export async function copyBase(baseDir: string, target: string): Promise<void> {
  for (const path of await listFiles(baseDir)) {
    await mkdir(dirname(join(target, path)), { recursive: true });
    await cp(join(baseDir, path), join(target, path), { verbatimSymlinks: true });
  }
}

/**
 * Applies a patch strictly (no fuzz, all or nothing) to a plain folder. Gives git's complaint, or null where it applied.
 */
export async function applyPatch(dir: string, patchPath: string): Promise<string | null> {
  const env = gitEnvironment();
  const init = await capture("git", ["init", "-q", "."], { cwd: dir, env });
  if (init.code !== 0) {
    throw new InfraDevError("unavailable", {
      code: "environment.git",
      message: `git init failed: ${init.stderr.trim()}`,
      where: dir,
      rule: "the runner makes checkouts with git",
      remedy: "install git 2.30 or newer and check the folder's permissions",
    });
  }
  const applied = await capture("git", ["apply", "--whitespace=nowarn", patchPath], { cwd: dir, env });
  return applied.code === 0 ? null : applied.stderr.trim();
}

/** Lays files over a checkout by their paths. */
export async function layOver(files: readonly SourceFile[], target: string): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(target, file.path)), { recursive: true });
    await cp(file.absPath, join(target, file.path));
  }
}
