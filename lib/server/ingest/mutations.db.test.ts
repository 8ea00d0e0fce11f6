import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { InfraDevError } from "@/lib/contract/errors";
import type { JobSpec } from "@/lib/contract/job";
import { gzipMember } from "@/lib/evidence/node/gzip-format";
import {
  addTestHost,
  deliver,
  leaseOf,
  makeBundleFor,
  startJob,
  startTestServer,
  submitGold,
  type TestHost,
  type TestServer,
} from "../testing";

const runs = Number(process.env["INFRADEV_MUTATIONS"] ?? "100");
const seed = Number(process.env["INFRADEV_SEED"] ?? Date.now() % 2 ** 31);

let server: TestServer;
let host: TestHost;
let job: JobSpec;
let original: Buffer;
let unpacked: Buffer;

beforeAll(async () => {
  server = await startTestServer(inject("testServerUrl"));
  host = await addTestHost(server);
  await submitGold(server);
  ({ job } = await startJob(server, host));
  const bundle = await makeBundleFor(server, host, job);
  original = await readFile(bundle.path);
  unpacked = gunzipSync(original);
});
afterAll(() => server.close());

async function repacked(bytes: Uint8Array): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  async function* whole() {
    yield bytes;
  }
  for await (const chunk of gzipMember(whole(), "dense", () => {})) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const share = fc.nat(99_999).map((value) => value / 100_000);
/** Where, what to cut out there (as much as is put in, or another length), and whether inside the compressed stream. */
const mutation = fc.record({
  inside: fc.boolean(),
  at: share,
  cut: fc.oneof(fc.constant(null), fc.constant(null), fc.nat(3), fc.nat(2000)),
  put: fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 3 }), fc.uint8Array({ maxLength: 600 })),
});

it(
  `whatever was changed is refused by its own code and changes nothing (${runs} mutations, seed ${seed})`,
  async () => {
    const codes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(mutation, async ({ inside, at, cut, put }) => {
        const source = inside ? unpacked : original;
        const where = Math.floor(at * source.byteLength);
        const changed = Buffer.concat([
          source.subarray(0, where),
          put,
          source.subarray(where + (cut ?? put.byteLength)),
        ]);
        if (changed.equals(source)) return;
        const bytes = inside ? await repacked(changed) : changed;
        const path = join(server.dataDir, "mutant.tar.gz");
        await writeFile(path, bytes);
        const error = await deliver(server, host, job, path).then(
          () => null,
          (thrown: unknown) => thrown,
        );
        if (!(error instanceof InfraDevError)) throw error ?? new Error("a changed bundle was accepted");
        expect(["invalid", "too-large"]).toContain(error.kind);
        expect(error.problem).toMatchObject({
          code: expect.stringMatching(/^(archive|bundle|result)\./),
          where: expect.any(String),
          rule: expect.any(String),
          remedy: expect.any(String),
        });
        codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
        expect((await leaseOf(server, job)).finishStatus).toBeNull();
      }),
      { numRuns: runs, seed },
    );
    console.log(`seed ${seed}; refused by: ${[...codes].map(([code, count]) => `${code} ${count}`).join(", ")}`);
    const [counts] = await server.database.sql`
      select (select count(*)::int from grading) as gradings, (select count(*)::int from attempt_summary) as summaries`;
    expect(counts).toEqual({ gradings: 0, summaries: 0 });
    // The lease still takes the bundle as it was made.
    const path = join(server.dataDir, "original.tar.gz");
    await writeFile(path, original);
    expect((await deliver(server, host, job, path)).verdict).toBe("accepted");
    expect(createHash("sha256").update(original).digest("hex")).toBe((await leaseOf(server, job)).bundleSha256);
  },
  120_000 + 400 * runs,
);
