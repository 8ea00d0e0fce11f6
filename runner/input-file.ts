import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { InfraDevError } from "@/lib/contract/errors";

/** Looks at a file that a command reads. Throws `code` with `rule` and `remedy` where there is none, or it is no file. */
export async function requireFile(
  path: string,
  { code, rule, remedy }: { code: string; rule: string; remedy: string },
): Promise<Stats> {
  const found = await stat(path).catch(() => null);
  if (found?.isFile()) return found;
  const message = found === null ? "there is no such file" : "this is no file";
  throw new InfraDevError("invalid", { code, message, where: path, rule, remedy });
}
