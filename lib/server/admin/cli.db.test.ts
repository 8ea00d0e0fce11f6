import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { problemSchema } from "@/lib/contract/errors";
import { generateKeyPair } from "@/lib/evidence/keys";
import { publicKeyPem } from "@/lib/evidence/node/key-file";
import { addTestHost, startTestServer, type TestServer } from "../testing";
import { addVendorKey, revokeSigningKey } from "./hosts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"));
});
afterAll(() => server.close());

/** Runs the command as a maintainer does. */
const admin = (...args: string[]) =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const command = ["--import", "tsx", "--conditions=react-server", "lib/server/admin/cli.ts", ...args];
    const env = { ...process.env, DATABASE_URL: server.testDatabase.url, INFRADEV_DATA_DIR: server.dataDir };
    execFile(process.execPath, command, { env }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
  });

async function newKey(): Promise<{ file: string; keyid: string }> {
  const { signer } = await generateKeyPair();
  const file = join(server.dataDir, `${signer.keyid}.pub.pem`);
  await writeFile(file, publicKeyPem(signer.spki));
  return { file, keyid: signer.keyid };
}
const organizations = async () =>
  (await server.database.sql`select slug from organization order by id`).map((row) => String(row["slug"]));
const add = (file: string, slug: string, more: { name?: string; owner?: string; validUntil?: Date } = {}) =>
  addVendorKey(server, {
    file,
    owner: more.owner ?? null,
    organization: { slug, name: more.name },
    validUntil: more.validUntil ?? null,
  });

describe("a key that is registered again", () => {
  it("in the same way changes nothing, in any other is a conflict that names its owner", async () => {
    const { file, keyid } = await newKey();
    const until = new Date("2100-01-01T00:00:00Z");
    expect(await add(file, "right-lab", { name: "Right Lab", validUntil: until })).toMatchObject({
      created: true,
      owner: "Right Lab",
      organization: { slug: "right-lab", name: "Right Lab", created: true },
    });
    expect(await add(file, "right-lab", { validUntil: until })).toMatchObject({
      created: false,
      organization: { created: false },
    });
    for (const again of [
      () => add(file, "wrong-lab", { validUntil: until }),
      () => add(file, "right-lab", { validUntil: until, owner: "Another" }),
      () => add(file, "right-lab"),
    ]) {
      await expect(again()).rejects.toMatchObject({
        kind: "conflict",
        problem: {
          code: "key.taken",
          message:
            "this key is registered already, as the vendor key of 'Right Lab' of the organization 'right-lab', valid until 2100-01-01T00:00:00.000Z",
          where: `key ${keyid}`,
        },
      });
    }
    // What is refused makes no organization.
    expect(await organizations()).not.toContain("wrong-lab");
  });

  it("after its revocation is a conflict that names it", async () => {
    const { file, keyid } = await newKey();
    await add(file, "right-lab");
    await revokeSigningKey(server, { keyid, compromisedSince: null, reason: "of a test" });
    await expect(add(file, "right-lab")).rejects.toMatchObject({
      kind: "conflict",
      problem: { code: "key.revoked", message: expect.stringMatching(/'Right Lab'.*was revoked at \d{4}-/) },
    });
  });

  it("as a vendor's where it is a host's is a conflict", async () => {
    const host = await addTestHost(server, { organization: "host-lab" });
    const file = join(server.dataDir, "host.pub.pem");
    await writeFile(file, publicKeyPem(host.signer.spki));
    await expect(add(file, "host-lab")).rejects.toMatchObject({
      problem: { code: "key.taken", message: expect.stringContaining("as the runner key of") },
    });
  });
});

describe("an organization", () => {
  it("has a slug and a name in the form of every other", async () => {
    const { file } = await newKey();
    for (const slug of ["Örg <i>'; drop", "", "Lab", "a".repeat(81)])
      await expect(add(file, slug)).rejects.toMatchObject({
        problem: { code: "organization.slug", where: "--organization" },
      });
    for (const name of ["", "a\nb", "x".repeat(121)])
      await expect(add(file, "named-lab", { name })).rejects.toMatchObject({
        problem: { code: "usage.name", where: "--organization-name" },
      });
    await expect(add(file, "right-lab", { name: "Wrong Lab" })).rejects.toMatchObject({
      problem: { code: "organization.other-name", message: expect.stringContaining("'Right Lab'") },
    });
    expect(await organizations()).not.toContain("named-lab");
  });
});

describe("the command", () => {
  it("says whose a key is, and that an organization was made", async () => {
    const [first, second] = [await newKey(), await newKey()];
    const made = await admin("key", "add", first.file, "--organization", "typo-lab");
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(made.out).toBe(
      `${first.keyid} is registered, as the key of typo-lab\n  organization: typo-lab\n  made the organization typo-lab\n`,
    );
    const again = await admin("key", "add", first.file, "--organization", "typo-lab");
    expect(again.out).toBe(`${first.keyid} was registered already, as the key of typo-lab\n  organization: typo-lab\n`);
    const unnamed = await admin("key", "add", second.file);
    expect(unnamed.out).toContain("  organization: maintainers (Maintainers), since --organization names none\n");
  });

  it.each([
    ["token", "mint"],
    ["submission", "create", "--suite", "synthetic-suite", "--reference", "all"],
    ["submission", "create", "--suite", "synthetic-suite", "--patches", "db", "--candidate", "x"],
    ["key", "add", "package.json"],
  ])("takes no name for an organization that is not named: %s %s", async (...args) => {
    const { code, out, err } = await admin(...args, "--organization-name", "My Lab", "--json");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(problemSchema.required().parse(JSON.parse(err).error)).toMatchObject({
      code: "usage.organization",
      where: "--organization-name",
    });
  });

  it.each([
    [1, "accounts.email", ["account", "create", "notanemail"]],
    [2, "usage.role", ["account", "grant", "ada@example.org", "boss"]],
    [2, "usage.name", ["account", "create", "ada@example.org", "--name", "a\nb"]],
    [2, "usage.time", ["key", "add", "none.pem", "--valid-until", "soon"]],
    [2, "usage.submission", ["submission", "create", "--suite", "none"]],
    [2, "usage.command", ["key", "revoke", "0".repeat(64)]],
    [2, "usage.command", ["nosuch"]],
    [1, "key.unreadable", ["key", "add", "none.pem"]],
    [1, "key.form", ["key", "add", "package.json"]],
    [1, "key.unknown", ["key", "revoke", "none", "--reason", "x"]],
    [1, "organization.slug", ["token", "mint", "--organization", "No Slug"]],
    [1, "host.unknown", ["host", "trust", "none"]],
    [1, "lease.unknown", ["lease", "end", "none"]],
    [1, "suite.unreadable", ["suite", "import", "none.json"]],
    [1, "suite.unknown", ["submission", "create", "--suite", "none", "--reference", "all"]],
    [1, "suite.unknown", ["submission", "create", "--suite", "none", "--patches", "db", "--candidate", "x"]],
    [
      1,
      "submission.candidate",
      ["submission", "create", "--suite", "synthetic-suite", "--patches", "db", "--candidate", "package.json"],
    ],
    [1, "submission.unknown", ["submission", "publish", "none"]],
    [1, "grading.unknown", ["grading", "invalidate", "none", "--reason", "x"]],
  ] as const)("refuses with %i and the whole problem: %s", async (exit, code, args) => {
    const { code: status, out, err } = await admin(...args, "--json");
    expect({ status, out }).toEqual({ status: exit, out: "" });
    const { error } = JSON.parse(err) as { error: unknown };
    expect(problemSchema.required().parse(error)).toMatchObject({ code });
  });
});
