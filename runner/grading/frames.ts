import type { Frame } from "@/lib/contract/result";

/** Says whose code a file is, and gives its path relative to that place. */
export type FrameMapper = (file: string) => Pick<Frame, "file" | "origin">;

export type FrameRoots = {
  repository: string;
  probes: string;
  /** Paths below the repository that hold tests. */
  isTest: (path: string) => boolean;
};

/** Up to the folder of Python's own modules or of installed packages. */
const librarySplit = /^.*\/(?:site-packages|dist-packages)\/|^.*?\/lib(?:64)?\/python3\.\d+\//;

export const isLibraryFile = (file: string): boolean => librarySplit.test(file);

export function createFrameMapper(roots: FrameRoots): FrameMapper {
  return (file) => {
    if (file.startsWith(`${roots.repository}/`)) {
      const path = file.slice(roots.repository.length + 1);
      return { file: path, origin: roots.isTest(path) ? "test" : "project" };
    }
    if (file.startsWith(`${roots.probes}/`)) {
      return { file: `probes/${file.slice(roots.probes.length + 1)}`, origin: "probe" };
    }
    const relative = file.replace(librarySplit, "");
    return { file: relative === file ? (file.split("/").at(-1) ?? file) : relative, origin: "other" };
  };
}

const stackHeader = /^(?:Current thread|Thread) 0x[0-9a-f]+(?: \[[^\]]*\])? \(most recent call first\):$/;
const stackLine = /^ {2}File "(.+)", line (\d+) in (.+)$/;

/** The last stack of the current thread that Python's fault handler printed, innermost last. */
export function parseStackDump(stderr: string, mapper: FrameMapper): Frame[] {
  const lines = stderr.split("\n");
  let start = -1;
  for (const [index, line] of lines.entries()) {
    if (stackHeader.test(line) && (line.startsWith("Current") || start < 0)) start = index;
  }
  if (start < 0) return [];
  const frames: Frame[] = [];
  for (const line of lines.slice(start + 1)) {
    const match = stackLine.exec(line);
    if (match === null) break;
    const [, file = "", number = "0", name = ""] = match;
    if (/\/_?(?:pytest|pluggy)\/|infradev_(?:launch|report)\.py$/.test(file)) continue;
    frames.push({ ...mapper(file), line: Number(number), function: name, code: null });
  }
  return frames.slice(0, 60).reverse();
}
