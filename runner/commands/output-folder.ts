import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { InfraDevError } from "@/lib/contract/errors";

/**
 * Makes a folder that a command writes its results to, before the command does its work. Throws
 * `environment.folder-not-writable`. Not by mkdir's own recursion, which never ends below /proc.
 */
export async function ensureOutputFolder(folder: string): Promise<string> {
  const wanted = resolve(folder);
  const missing: string[] = [];
  try {
    let place = wanted;
    for (;;) {
      const found = await stat(place).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
        return null;
      });
      if (found?.isDirectory()) break;
      if (found) throw Object.assign(new Error("a file stands there"), { code: "ENOTDIR" });
      missing.unshift(place);
      place = dirname(place);
    }
    for (const each of missing) {
      await mkdir(each).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
    }
    await access(wanted, constants.W_OK);
    return wanted;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new InfraDevError(
      "unavailable",
      {
        code: "environment.folder-not-writable",
        message: `nothing can be written there (${code ?? "unknown error"})`,
        where: wanted,
        rule: "results go into a folder that this user may write",
        remedy: "name another folder",
      },
      { cause },
    );
  }
}
