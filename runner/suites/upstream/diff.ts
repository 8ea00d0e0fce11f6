import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { environment } from "../../environment";
import { capture } from "../../processes/capture";
import { processOwner } from "../../processes/owner";
import { upstreamProblem } from "./problems";

/** A file or link with its content; modes as git has them: 100644, 100755, 120000. */
export type TreeFile = { mode: string; body: Buffer };
type Files = ReadonlyMap<string, TreeFile>;

/** Writes files below `dir` with their modes. Folders that lead to a file are made, each once. */
export async function writeFiles(dir: string, files: Iterable<readonly [string, TreeFile]>): Promise<void> {
  const made = new Set<string>();
  for (const [path, { mode, body }] of files) {
    const target = join(dir, path);
    const folder = dirname(target);
    if (!made.has(folder)) {
      await mkdir(folder, { recursive: true });
      made.add(folder);
    }
    if (mode === "120000") await symlink(body.toString("utf8"), target);
    else {
      await writeFile(target, body, { flag: "wx" });
      await chmod(target, mode === "100755" ? 0o755 : 0o644);
    }
  }
}

const settings = ["diff.algorithm=myers", "diff.indentHeuristic=true", "core.quotePath=false", "core.fileMode=true"];

/**
 * The patch in git's form that turns `before` into `after`. Both hold only what may differ; what is equal is left out.
 * Throws `upstream.binary` where a binary file differs, since a patch of a task is text.
 */
export async function diffOf(before: Files, after: Files, where: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), `infradev-diff-${processOwner}-`));
  try {
    await mkdir(join(work, "a"));
    await mkdir(join(work, "b"));
    await writeFiles(join(work, "a"), before);
    await writeFiles(join(work, "b"), after);
    const args = ["diff", "--no-index", "--no-prefix", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
    const run = await capture(
      "git",
      [...settings.flatMap((each) => ["-c", each]), ...args, "--full-index", "--unified=3", "a", "b"],
      {
        cwd: work,
        env: {
          PATH: environment.path,
          HOME: "/nonexistent",
          LC_ALL: "C",
          GIT_CONFIG_NOSYSTEM: "1",
          GIT_CONFIG_GLOBAL: "/dev/null",
          GIT_CEILING_DIRECTORIES: dirname(work),
        },
      },
    );
    if (run.code !== 0 && run.code !== 1) {
      throw upstreamProblem("unavailable", "diff", {
        message: `git diff failed: ${run.stderr.trim().split("\n")[0]}`,
        where,
        rule: "the reference change is written with git diff",
        remedy: "check free space of the temporary folder, and that git is 2.30 or newer",
      });
    }
    const binary = /^Binary files (?:a\/)?(.+?) and /m.exec(run.stdout);
    if (binary === null) return run.stdout;
    throw upstreamProblem("invalid", "binary", {
      message: `the change has a binary file: ${binary[1]}`,
      where,
      rule: "a patch of a task is text",
      remedy: "add the file to left_out",
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
