import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { EvidenceResponse } from "@/lib/contract/evidence-api";
import { serializeEnvelope } from "@/lib/evidence/dsse";
import { generateKeyPair } from "@/lib/evidence/keys";
import { publicKeyPem } from "@/lib/evidence/node/key-file";
import { makeTestBundle, makeTestEvidence, type TestBundle } from "@/lib/evidence/testing";
import { registerVerify } from "./verify";

let work: string;
let bundle: TestBundle;
let evidence: EvidenceResponse;
let server: Server;
let url: string;
let answers: Record<string, unknown>;
const files = { keys: "", pem: "", badPem: "", receipt: "" };

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-verify-"));
  bundle = await makeTestBundle(join(work, "bundle.tar.gz"));
  ({ response: evidence } = await makeTestEvidence(bundle, (await generateKeyPair()).signer));
  files.keys = join(work, "keys.json");
  files.pem = join(work, "key.pem");
  files.receipt = join(work, "receipt.jsonl");
  files.badPem = join(work, "bad.pem");
  await writeFile(files.badPem, "-----BEGIN PUBLIC KEY-----\nAA=A\n-----END PUBLIC KEY-----\n");
  await writeFile(files.keys, JSON.stringify(evidence.keys));
  await writeFile(files.pem, publicKeyPem(bundle.signer.spki));
  if (evidence.receipt) await writeFile(files.receipt, `${serializeEnvelope(evidence.receipt)}\n`);
  server = createServer((request, response) => {
    const answer = answers[request.url ?? ""];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  answers = {
    "/.well-known/infradev-keys.json": evidence.keys,
    [`/api/v1/gradings/${bundle.result.gradingId}/evidence`]: evidence,
  };
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});
afterAll(async () => {
  server.close();
  await rm(work, { recursive: true, force: true });
});

async function verify(...args: string[]) {
  const written = { out: "", err: "" };
  const keep = (stream: "out" | "err") => (text: unknown) => {
    written[stream] += String(text);
    return true;
  };
  vi.spyOn(process.stdout, "write").mockImplementation(keep("out"));
  vi.spyOn(process.stderr, "write").mockImplementation(keep("err"));
  const program = new Command().exitOverride();
  registerVerify(program);
  await program.parseAsync(["verify", ...args], { from: "user" });
  vi.restoreAllMocks();
  return { code: process.exitCode, ...written };
}

const tampered = async () => {
  const path = join(work, "tampered.tar.gz");
  const bytes = await readFile(bundle.path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await writeFile(path, bytes);
  return path;
};

describe("runner verify", () => {
  it("holds with pinned keys and no network, and says what it proves and what it did not check", async () => {
    const { code, out } = await verify(bundle.path, "--keys", files.keys);
    expect(code).toBe(0);
    expect(out).toContain("no server is trusted");
    expect(out).toContain(`grading ${bundle.result.gradingId} of synthetic-suite 1.0 / synthetic-task: 4 of 4`);
    expect(out).toContain("Does not prove");
    expect(out).toContain("Not checked: the server's receipt");
  });

  it("takes one public key in PEM", async () => {
    expect((await verify(bundle.path, "--keys", files.pem)).code).toBe(0);
  });

  it("checks a receipt offline", async () => {
    const { code, out } = await verify(bundle.path, "--keys", files.keys, "--receipt", files.receipt);
    expect(code).toBe(0);
    expect(out).toContain("The server received it at 2025-01-01T01:00:00.000Z (accepted)");
  });

  it("checks receipt and inclusion against a server, one JSON document with --json", async () => {
    const { code, out } = await verify(bundle.path, "--server", url, "--json");
    const document = JSON.parse(out) as { ok: boolean; checks: { id: string; ok: boolean }[]; keysFrom: string };
    expect(code).toBe(0);
    expect(document.ok).toBe(true);
    expect(document.checks.filter(({ ok }) => ok).map(({ id }) => id)).toEqual(
      expect.arrayContaining(["receipt", "inclusion"]),
    );
    expect(document.keysFrom).toContain("that server is trusted");
  });

  it.each([
    ["does not answer", false],
    ["begins an answer only", true],
  ])("gives a server up that %s", async (_, begins) => {
    const silent = createServer((_request, response) => {
      if (begins) response.writeHead(200).write("{");
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const asked = new Promise((resolve) => silent.once("request", resolve));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const refused = verify(bundle.path, "--server", `http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
      await asked;
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await refused).toMatchObject({ code: 2, err: expect.stringContaining("[environment.unreachable]") });
    } finally {
      vi.useRealTimers();
      silent.closeAllConnections();
      silent.close();
    }
  });

  it("does not believe a server whose receipt is by a key that is not pinned", async () => {
    const { code, out } = await verify(bundle.path, "--keys", files.pem, "--server", url);
    expect(code).toBe(1);
    expect(out).toContain("[receipt.unknown-key]");
  });

  it("refuses where the server knows no such grading, or has no inclusion proof", async () => {
    answers = { "/.well-known/infradev-keys.json": evidence.keys };
    expect(await verify(bundle.path, "--server", url)).toMatchObject({
      code: 1,
      out: expect.stringContaining("[receipt.missing]"),
    });
    answers[`/api/v1/gradings/${bundle.result.gradingId}/evidence`] = { ...evidence, log: null };
    expect(await verify(bundle.path, "--server", url)).toMatchObject({
      code: 1,
      out: expect.stringContaining("[log.missing]"),
    });
  });

  it("refuses a changed bundle with exit 1, and names what differs", async () => {
    const { code, out } = await verify(await tampered(), "--keys", files.keys);
    expect(code).toBe(1);
    expect(out).toMatch(/FAILED.*\n.*\[archive\.checksum\]\n\s+where: .*\n\s+rule: .*\n\s+remedy: /);
    expect(out).toContain("refused: 1 of 1 checks do not hold");
  });

  it.each([
    ["no keys at all", () => [bundle.path], "usage.no-keys"],
    ["a bundle that is not there", () => [join(work, "none"), "--keys", files.keys], "usage.bundle-missing"],
    ["keys of another form", () => [bundle.path, "--keys", files.receipt], "usage.keys-form"],
    ["a PEM that holds no key", () => [bundle.path, "--keys", files.badPem], "key.form"],
    [
      "a receipt of another form",
      () => [bundle.path, "--keys", files.keys, "--receipt", files.keys],
      "usage.receipt-form",
    ],
    ["keys that are not there", () => [bundle.path, "--keys", join(work, "none")], "environment.missing"],
    ["a folder for a bundle", () => [work, "--keys", files.keys], "usage.bundle-missing"],
    ["a device for a bundle", () => ["/dev/zero", "--keys", files.keys], "usage.bundle-missing"],
    ["keys without an end", () => [bundle.path, "--keys", "/dev/zero"], "usage.keys-form"],
    [
      "a receipt without an end",
      () => [bundle.path, "--keys", files.keys, "--receipt", "/dev/zero"],
      "usage.receipt-form",
    ],
    ["a server that does not answer", () => [bundle.path, "--server", "http://127.0.0.1:8"], "environment.unreachable"],
    ["a port that fetch refuses", () => [bundle.path, "--server", "http://127.0.0.1:9"], "usage.server-port"],
    ["an address that is none", () => [bundle.path, "--server", "ftp://x"], "usage.server-url"],
  ])("ends with exit 2 on %s", async (_, args, problem) => {
    const { code, err } = await verify(...args());
    expect(code).toBe(2);
    expect(err).toContain(`[${problem}]`);
    expect(err).toContain("remedy:");
  });
});
