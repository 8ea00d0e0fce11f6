import { execFileSync, spawnSync } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { generateKeyPair } from "./keys";
import { makeTestBundle, packArchive, type TestBundle, unpackArchive } from "./testing";

const tools = ["bash", "openssl", "jq", "sha256sum", "tar"];
const lacking = tools.filter((tool) => spawnSync("sh", ["-c", `command -v ${tool}`]).status !== 0);

let work: string;
let bundle: TestBundle;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-by-hand-"));
  bundle = await makeTestBundle(join(work, "bundle.tar.gz"), { sealed: { "a.txt": "hidden" } });
  await writeFile(join(work, "keys.json"), JSON.stringify({ format: "infradev-keys/1", keys: [bundle.key] }));
});
afterEach(() => rm(work, { recursive: true, force: true }));

/** The commands that the README shows, the first block (the download) left out. */
async function commands(): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, "README.md"), "utf8");
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block ?? "").slice(1);
}

async function run() {
  const script = `set -euo pipefail\n${(await commands()).join("\n")}`;
  return spawnSync("bash", ["-c", script], { cwd: work, encoding: "utf8" });
}

describe.skipIf(lacking.length > 0)(`verification by hand (needs ${tools.join(", ")})`, () => {
  it("holds for a good bundle, and prints what the text says", async () => {
    const { status, stdout, stderr } = await run();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.trimEnd().split("\n")).toEqual([
      "Signature Verified Successfully",
      "key id holds",
      "Signature Verified Successfully",
      "key id holds",
      "true",
    ]);
  });

  const repack = async (change: (entries: { path: string; bytes: Buffer }[]) => { path: string; bytes: Buffer }[]) =>
    writeFile(join(work, "bundle.tar.gz"), packArchive(change(await unpackArchive(bundle.path))));

  it("fails where a file was changed", async () => {
    await repack((entries) =>
      entries.map((entry) => (entry.path === "payload/host.json" ? { ...entry, bytes: Buffer.from("{}") } : entry)),
    );
    const { status, stdout } = await run();
    expect(status).not.toBe(0);
    expect(stdout).toContain("payload/host.json: FAILED");
  });

  it("fails where a file stands unlisted", async () => {
    await repack((entries) => [...entries, { path: "zz-extra", bytes: Buffer.from("x") }]);
    const { status, stdout } = await run();
    expect(status).not.toBe(0);
    expect(stdout).toContain("< zz-extra");
  });

  it("fails where the list itself was changed", async () => {
    await repack((entries) =>
      entries
        .map((entry) =>
          entry.path === "SHA256SUMS"
            ? { ...entry, bytes: Buffer.from(entry.bytes.toString().replace(/.*guard.json\n/, "")) }
            : entry,
        )
        .filter(({ path }) => path !== "payload/guard.json"),
    );
    expect((await run()).status).not.toBe(0);
  });

  it("fails where another bundle's statements stand, and with keys that do not hold the signer's", async () => {
    const other = await makeTestBundle(join(work, "other.tar.gz"), { signer: bundle.signer });
    const lines = (await unpackArchive(other.path)).filter(({ path }) => path === "bundle.intoto.jsonl");
    await repack((entries) => entries.map((entry) => lines.find(({ path }) => path === entry.path) ?? entry));
    expect((await run()).status).not.toBe(0);
    await rm(join(work, "bundle"), { recursive: true });
    await rm(join(work, "signed"), { recursive: true });
    await copyFile(other.path, join(work, "bundle.tar.gz"));
    expect((await run()).status).toBe(0);
    await rm(join(work, "bundle"), { recursive: true });
    await rm(join(work, "signed"), { recursive: true });
    const stranger = await makeTestBundle(join(work, "bundle.tar.gz"), { signer: (await generateKeyPair()).signer });
    expect(stranger.key.keyid).not.toBe(bundle.key.keyid);
    expect((await run()).status).not.toBe(0);
  });
});

it("reads an archive as GNU tar does", async () => {
  const listed = execFileSync("tar", ["-tzf", bundle.path], { encoding: "utf8" }).trimEnd().split("\n");
  expect((await unpackArchive(bundle.path)).map(({ path }) => path)).toEqual(listed);
});
