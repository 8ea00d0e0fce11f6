import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { EvidenceResponse } from "../contract/evidence-api";
import { type Fetch, verifyInPage } from "./browser-verify";
import { generateKeyPair } from "./keys";
import { makeTestBundle, makeTestEvidence } from "./testing";

let work: string;
let response: EvidenceResponse;
let files: Map<string, Buffer>;
let others: { response: EvidenceResponse; files: Map<string, Buffer> };
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "infradev-page-"));
});
beforeEach(async () => {
  const { signer: server } = await generateKeyPair();
  const bundle = await makeTestBundle(join(work, "a.tar.gz"), {
    statuses: { "probes/test_pool_probe.py::test_shape": "hung" },
  });
  ({ response, files } = await makeTestEvidence(bundle, server));
  others = await makeTestEvidence(await makeTestBundle(join(work, "b.tar.gz"), { signer: bundle.signer }), server);
});
afterEach(() => vi.unstubAllGlobals());
afterAll(() => rm(work, { recursive: true, force: true }));

const serve: Fetch = async (url) => {
  const file = files.get(url) ?? others.files.get(url);
  if (file) return new Response(new Uint8Array(file));
  return url === `/api/v1/gradings/${response.gradingId}/evidence`
    ? Response.json(response)
    : new Response("", { status: 404 });
};
const check = (shown = response.shown) => verifyInPage(response.gradingId, shown, serve);
const failures = async (shown = response.shown) => {
  const { ok, checks } = await check(shown);
  expect(ok).toBe(false);
  return checks.flatMap(({ problems }) => problems.map(({ code }) => code));
};

describe("the page's own check", () => {
  it("holds for good evidence, and says what it does not prove", async () => {
    const { ok, checks, notProven } = await check();
    expect(checks.filter((each) => !each.ok)).toEqual([]);
    expect(ok).toBe(true);
    expect(checks.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["files", "signature", "shown", "receipt", "inclusion"]),
    );
    expect(notProven[0]).toContain("still trusts this site");
  });

  it.each([
    [
      "a summary",
      (shown: EvidenceResponse["shown"]) => ({ ...shown, summary: { ...shown.summary, requiredPassed: 4 } }),
      "summary.requiredPassed",
    ],
    ["a status", (shown: EvidenceResponse["shown"]) => ({ ...shown, status: "canceled" as const }), "status"],
    [
      "a verdict",
      (shown: EvidenceResponse["shown"]) => ({
        ...shown,
        tests: shown.tests.map((test) => ({ ...test, status: "passed" as const })),
      }),
      "tests.",
    ],
    ["a test left out", (shown: EvidenceResponse["shown"]) => ({ ...shown, tests: shown.tests.slice(1) }), "tests."],
  ])("finds %s that the page shows and nobody signed", async (_, edit, where) => {
    const { ok, checks } = await check(edit(response.shown));
    expect(ok).toBe(false);
    const [problem] = checks.flatMap(({ problems }) => problems);
    expect(problem?.code).toBe("page.figure-mismatch");
    expect(problem?.where).toContain(where);
  });

  it("finds a stored file that was changed, and one that is gone", async () => {
    const [path, url] = Object.entries(response.files).find(([name]) => name.endsWith("result.json")) ?? [];
    files.set(
      url ?? "",
      Buffer.from(
        files
          .get(url ?? "")
          ?.toString()
          .replace('"hung"', '"passed"') ?? "",
      ),
    );
    expect(await failures()).toContain("bundle.digest-mismatch");
    delete response.files[path ?? ""];
    expect(await failures()).toContain("bundle.missing-file");
  });

  it("finds statements, sums, receipts and records of another grading", async () => {
    const good = response;
    response = { ...good, envelopes: others.response.envelopes };
    expect(await failures()).toContain("bundle.sums-mismatch");
    response = { ...good, sums: others.response.sums };
    expect(await failures()).toContain("bundle.sums-mismatch");
    response = { ...good, receipt: others.response.receipt };
    expect(await failures()).toContain("receipt.bundle-mismatch");
    response = { ...good, log: others.response.log };
    expect(await failures()).toContain("log.record-mismatch");
    response = { ...others.response, gradingId: good.gradingId };
    expect(await failures()).toContain("bundle.grading-mismatch");
  });

  it("says that receipt and inclusion are lacking rather than passing over it", async () => {
    response = { ...response, receipt: null, log: null };
    const { ok, notProven } = await check();
    expect(ok).toBe(true);
    expect(notProven.join(" ")).toMatch(/no receipt.*no inclusion proof/);
  });

  it("says why it cannot check: no Ed25519, no network, no evidence, another form", async () => {
    await expect(verifyInPage("unknown", response.shown, serve)).rejects.toMatchObject({
      code: "evidence.unavailable",
    });
    await expect(
      verifyInPage("x", response.shown, () => Promise.reject(new TypeError("offline"))),
    ).rejects.toMatchObject({
      code: "evidence.unreachable",
    });
    await expect(verifyInPage("x", response.shown, async () => Response.json({}))).rejects.toMatchObject({
      code: "evidence.form",
    });
    const { subtle } = crypto;
    vi.stubGlobal("crypto", {
      subtle: {
        digest: subtle.digest.bind(subtle),
        importKey: () => Promise.reject(new DOMException("unrecognized", "NotSupportedError")),
      },
    });
    await expect(check()).rejects.toMatchObject({ code: "browser.no-ed25519" });
  });
});
