import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Result } from "@/lib/contract/result";
import { showResult } from "../commands/grade";
import type { Graded } from "../grading/grade";
import { createOutput } from "../terminal/output";
import type { Harm } from "./exploit";

/** The kernel reaps what was killed a moment after the grader has seen its end. */
const reapedWithinMs = 1_500;

/** What an exploit left behind that does harm, in words, or null. `markOf` is the mark that its own patch carries. */
export async function findHarm(
  harm: Harm,
  graded: Graded,
  ownMark: string,
  pythonFolders: readonly string[],
): Promise<string | null> {
  switch (harm.kind) {
    case "process": {
      const untilMs = performance.now() + reapedWithinMs;
      let left = await processesWith(ownMark);
      while (left.length > 0 && performance.now() < untilMs) {
        await sleep(50);
        left = await processesWith(ownMark);
      }
      for (const pid of left) process.kill(pid, "SIGKILL");
      return left.length === 0 ? null : `left ${left.length} processes running`;
    }
    case "file": {
      const folders = [tmpdir(), "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/home", ...pythonFolders];
      const found = folders.find((folder) => existsSync(join(folder, harm.name)));
      return found === undefined ? null : `left a file in ${found}`;
    }
    case "evidence": {
      const bytes =
        (await sizeOf(graded.payloadDir)) + (graded.sealedDir === null ? 0 : await sizeOf(graded.sealedDir));
      return bytes <= harm.maxBytes ? null : `left ${bytes} bytes of evidence`;
    }
    case "screen":
      return hasControls(shown(graded.result)) ? "reached the screen with control characters" : null;
  }
}

async function processesWith(word: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(entry)) continue;
    const [command, state] = await Promise.all([
      readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => ""),
      readFile(`/proc/${entry}/stat`, "utf8").catch(() => ""),
    ]);
    const isDead = /\) [ZX] /.test(state);
    if (!isDead && command.split("\0").includes(word)) found.push(Number(entry));
  }
  return found;
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** What `runner grade` prints about a result, on a terminal without colours. */
function shown(result: Result): string {
  let text = "";
  const stream = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk);
        done();
      },
    }),
    { isTTY: false },
  ) as unknown as NodeJS.WriteStream;
  showResult(createOutput(false, { stdout: stream, stderr: stream, noColor: true }), result);
  return text;
}

const hasControls = (text: string): boolean => /[\p{Cc}\p{Cf}]/u.test(text.replaceAll("\n", ""));
