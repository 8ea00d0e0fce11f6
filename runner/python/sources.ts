import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Text of a Python program of this folder, such as `infradev_report.py`. The single-file bundle carries the texts in
 * place of this module's reading from disk (see runner/build.ts).
 */
export function pythonSource(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");
}
