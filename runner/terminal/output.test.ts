import { copyFile, link, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import {
  createOutput,
  formatBytes,
  formatElapsed,
  formatTable,
  Interrupted,
  type OutputStreams,
  ReaderGone,
  reportError,
} from "./output";

function fakeStreams(tty: boolean) {
  const written = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    isTTY: tty,
    columns: 30,
    write: (text: string) => {
      written[name] += text;
      return true;
    },
  });
  const streams = { stdout: stream("stdout"), stderr: stream("stderr"), noColor: false } as unknown as OutputStreams;
  return { written, streams };
}

describe("a table", () => {
  it("pads by what is seen, puts numbers to the right and a dash where nothing is", () => {
    const green = "\u001b[32mok\u001b[0m";
    expect(
      formatTable(
        ["state", "n", "note"],
        [
          [green, 5, null],
          ["missing", 120, "x"],
        ],
      ),
    ).toBe(["state    n    note", "───────  ───  ────", `${green}         5  —`, "missing  120  x"].join("\n"));
  });
});

describe("an output", () => {
  it("prints one document and nothing else under --json", () => {
    const { written, streams } = fakeStreams(true);
    const output = createOutput(true, streams);
    output.line("for people");
    output.status("working");
    output.live("working");
    output.result({ ok: true });
    expect(JSON.parse(written.stdout)).toEqual({ ok: true });
    expect(written.stderr).toBe("");
  });

  it("redraws one line on a terminal, cut to its width, and removes it before a line", () => {
    const { written, streams } = fakeStreams(true);
    const output = createOutput(false, streams);
    output.live("x".repeat(100));
    expect(written.stderr).toBe(`\r\u001b[2K${"x".repeat(29)}`);
    output.line("done");
    expect(written.stderr.endsWith("\r\u001b[2K")).toBe(true);
    expect(written.stdout).toBe("done\n");
  });

  it("prints each state once and no colour elsewhere", () => {
    const { written, streams } = fakeStreams(false);
    const output = createOutput(false, streams);
    output.status("a");
    output.status("a");
    output.live("ticks");
    output.status("b");
    output.line(output.paint("red", "failed"));
    expect(written).toEqual({ stderr: "a\nb\n", stdout: "failed\n" });
  });
});

describe("an error", () => {
  const problem = { code: "usage.x", message: "what", where: "where", rule: "rule", remedy: "remedy" };

  it("says what, where, which rule and the remedy, and exits with 2", () => {
    const { written, streams } = fakeStreams(false);
    expect(reportError(new InfraDevError("invalid", problem), false, streams)).toBe(2);
    for (const part of ["what [usage.x]", "where", "rule", "remedy"]) expect(written.stderr).toContain(part);
  });

  it("of a full disk says so, as one document under --json", () => {
    const { written, streams } = fakeStreams(false);
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", path: "/out" });
    expect(reportError(full, true, streams)).toBe(2);
    expect(JSON.parse(written.stdout).error).toMatchObject({ code: "environment.disk-full", where: "/out" });
  });

  it.each([
    "ENOENT",
    "ENOTDIR",
    "EEXIST",
    "EISDIR",
    "ENAMETOOLONG",
    "ELOOP",
    "EROFS",
    "ENOSPC",
    "EDQUOT",
    "EACCES",
    "EPERM",
    "EMFILE",
    "ENFILE",
  ])("of the system's %s says what, where, which rule and the remedy", (code) => {
    const { written, streams } = fakeStreams(false);
    const error = Object.assign(new Error(`${code}: raw, open '/x/y'`), { code, syscall: "open", path: "/x/y" });
    expect(reportError(error, true, streams)).toBe(2);
    const told = JSON.parse(written.stdout).error;
    expect(told.code).toMatch(/^environment\./);
    expect(told).toMatchObject({ where: "/x/y", rule: expect.any(String), remedy: expect.any(String) });
    expect(told.message).toContain(`(${code}, open)`);
  });

  it("of a path through a file, and of a file where a folder is to be made, is none of the program's defects", async () => {
    const dir = await mkdtemp(join(tmpdir(), "infradev-output-"));
    const file = join(dir, "file");
    await writeFile(file, "");
    for (const [path, code] of [
      [join(file, "sub"), "environment.not-a-folder"],
      [file, "environment.exists"],
    ] as const) {
      const { written, streams } = fakeStreams(false);
      reportError(await mkdir(path, { recursive: true }).catch((error: unknown) => error), true, streams);
      expect(JSON.parse(written.stdout).error).toMatchObject({ code, where: path });
    }
    await rm(dir, { recursive: true });
  });

  it("of a call with two paths names both, and only the second where something stands there", async () => {
    const dir = await mkdtemp(join(tmpdir(), "infradev-output-"));
    const [file, missing, other] = [join(dir, "file"), join(dir, "missing"), join(dir, "other")];
    await writeFile(file, "");
    await writeFile(other, "");
    for (const [call, code, where] of [
      [rename(missing, other), "environment.missing", `${missing} -> ${other}`],
      [copyFile(missing, other), "environment.missing", `${missing} -> ${other}`],
      [link(file, other), "environment.exists", other],
    ] as const) {
      const { written, streams } = fakeStreams(false);
      reportError(await call.catch((error: unknown) => error), true, streams);
      expect(JSON.parse(written.stdout).error).toMatchObject({ code, where });
    }
    await rm(dir, { recursive: true });
  });

  it("of a reader that went away is none, and exits as SIGPIPE does", () => {
    const { written, streams } = fakeStreams(false);
    expect(reportError(new ReaderGone(), true, streams)).toBe(141);
    expect(written).toEqual({ stdout: "", stderr: "" });
  });

  it("of an interruption exits with 130", () => {
    expect(reportError(new Interrupted(), false, fakeStreams(false).streams)).toBe(130);
  });
});

describe("figures", () => {
  it("are short", () => {
    expect([400, 12_340, 125_000].map(formatElapsed)).toEqual(["0.4 s", "12.3 s", "2 min 05 s"]);
    expect([12, 2048, 3 * 1024 ** 3].map(formatBytes)).toEqual(["12 B", "2.0 KiB", "3.0 GiB"]);
  });
});
