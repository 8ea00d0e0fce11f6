import { createHash } from "node:crypto";
import { z } from "zod";

import type { DsseEnvelope, PublishedKey } from "../../contract/bundle";
import { bundleLimits, bundlePaths, requiredPayloadPaths } from "../../contract/bundle";
import type { Problem } from "../../contract/errors";
import { InfraDevError } from "../../contract/errors";
import type { LogInclusion } from "../../contract/evidence-api";
import type { Guard, Result } from "../../contract/result";
import { guardSchema } from "../../contract/result";
import { concatBytes, decodeUtf8 } from "../bytes";
import { checkGuard } from "../check-result";
import { differences } from "../statements";
import { parseSums } from "../sums";
import type { Check, EvidenceContents, Expectation } from "../verify-evidence";
import { checkOf, verifyEvidence } from "../verify-evidence";
import { AtomicExtraction, openBundle } from "./bundle-reader";

export interface VerifyOptions {
  /** Registered or pinned keys; a bundle that none of them signed is refused. */
  keys: readonly PublishedKey[];
  receipt?: DsseEnvelope | null | undefined;
  log?: LogInclusion | null | undefined;
  /** Time of receipt, for the keys' windows; without it the receipt's time counts, else now. */
  receivedAt?: Date | undefined;
  expect?: Expectation | undefined;
  /** Folder to unpack into; it appears only where every check holds. */
  extractTo?: string | undefined;
}

interface BundleFile {
  path: string;
  bytes: number;
  /** Hex. */
  sha256: string;
}

/** A bundle as read. Only what a report with `ok` says may be relied on. */
export interface BundleContents extends EvidenceContents {
  guard: Guard;
  /** `bundle.intoto.jsonl` and `SHA256SUMS`, byte for byte. */
  envelopes: string;
  sums: string;
  sumsSha256: string;
  /** Every file that SHA256SUMS lists, in its order. */
  files: BundleFile[];
}

export interface VerificationReport {
  /** Whether every check holds. */
  ok: boolean;
  checks: Check[];
  /** The archive as read; null where its end was not reached. */
  archive: { sha256: string; bytes: number } | null;
  /** What was not checked, each with its reason. */
  notChecked: string[];
  contents: BundleContents | null;
}

/** Files that are kept in memory while the rest streams by. */
const keptPaths = new Set<string>([
  bundlePaths.sums,
  bundlePaths.envelopes,
  bundlePaths.result,
  bundlePaths.manifest,
  bundlePaths.runLock,
  bundlePaths.host,
  bundlePaths.ctrf,
  bundlePaths.guard,
]);

interface Collected {
  files: Map<string, BundleFile>;
  kept: Map<string, Uint8Array>;
}

async function collect(
  source: string | AsyncIterable<Uint8Array>,
  extraction: AtomicExtraction | null,
): Promise<Collected & { archive: { sha256: string; bytes: number } }> {
  const bundle = openBundle(source);
  const files = new Map<string, BundleFile>();
  const kept = new Map<string, Uint8Array>();
  for await (const { path, size, content } of bundle.entries) {
    if (keptPaths.has(path) && size > bundleLimits.documentBytes)
      throw new InfraDevError("too-large", {
        code: "bundle.document-size",
        message: `the document has ${size} bytes`,
        where: path,
        rule: `a document that is read whole has at most ${bundleLimits.documentBytes} bytes`,
        remedy: "bound messages and frames of the grading more tightly",
      });
    const hash = createHash("sha256");
    const parts: Uint8Array[] = [];
    for await (const chunk of extraction ? extraction.write(path, content) : content) {
      hash.update(chunk);
      if (keptPaths.has(path)) parts.push(chunk.slice());
    }
    if (keptPaths.has(path)) kept.set(path, concatBytes(...parts));
    files.set(path, { path, bytes: size, sha256: hash.digest("hex") });
  }
  return { files, kept, archive: bundle.archive() };
}

const fileProblem = (code: string, where: string, message: string): Problem => ({
  code,
  message,
  where,
  rule: "SHA256SUMS lists every file of the payload and sealed.tar.gz, and nothing else is in the archive",
  remedy: "take the bundle again as the runner wrote it",
});

/** Compares what the archive holds with what SHA256SUMS lists: digests, unlisted files, missing files. */
function fileProblems(listed: ReadonlyMap<string, string>, files: ReadonlyMap<string, BundleFile>): Problem[] {
  const problems: Problem[] = [];
  for (const [path, sha256] of listed) {
    const file = files.get(path);
    if (!file)
      problems.push(fileProblem("bundle.missing-file", path, "SHA256SUMS lists a file that the archive lacks"));
    else if (file.sha256 !== sha256)
      problems.push(
        fileProblem("bundle.digest-mismatch", path, `the file has sha256 ${file.sha256}, SHA256SUMS says ${sha256}`),
      );
    if (!path.startsWith(bundlePaths.payload) && path !== bundlePaths.sealed)
      problems.push(
        fileProblem("bundle.unexpected-file", path, "a file stands outside of payload/ and is not sealed.tar.gz"),
      );
  }
  for (const path of files.keys())
    if (!listed.has(path) && path !== bundlePaths.sums && path !== bundlePaths.envelopes)
      problems.push(
        fileProblem("bundle.unlisted-file", path, "the archive holds a file that SHA256SUMS does not list"),
      );
  for (const path of requiredPayloadPaths)
    if (!files.has(path) && !listed.has(path))
      problems.push(fileProblem("bundle.missing-file", path, "the bundle lacks a file that every bundle has"));
  return problems;
}

const ctrfSchema = z.object({
  results: z.object({
    summary: z.object({ tests: z.int(), passed: z.int() }),
    tests: z.array(z.object({ name: z.string(), status: z.string() })),
  }),
});

/** Compares the CTRF document with the result: the same tests, the same ones passed, its own sums. */
function ctrfProblems(bytes: Uint8Array | undefined, result: Result): Problem[] {
  const refuse = (where: string, message: string): Problem[] => [
    {
      code: "bundle.ctrf-mismatch",
      message,
      where: `${bundlePaths.ctrf}${where}`,
      rule: "tests.ctrf.json repeats the result for tools that read CTRF: the same tests, the same ones passed",
      remedy: "grade again with a current runner",
    },
  ];
  const text = bytes ? isText(bytes) : null;
  let ctrf: z.infer<typeof ctrfSchema>;
  try {
    ctrf = ctrfSchema.parse(JSON.parse(text ?? ""));
  } catch {
    return refuse("", "the document is not CTRF");
  }
  const { summary, tests } = ctrf.results;
  const passedIn = (list: readonly { status: string }[]) => list.filter(({ status }) => status === "passed").length;
  const found = differences(
    Object.fromEntries(result.tests.map(({ id, status }) => [id, status === "passed"])),
    Object.fromEntries(tests.map(({ name, status }) => [name, status === "passed"])),
  );
  const [first] = found;
  if (first) return refuse(`#${first.path}`, `passed: says ${first.actual}, the result says ${first.expected}`);
  return summary.tests === result.tests.length &&
    tests.length === result.tests.length &&
    summary.passed === passedIn(tests)
    ? []
    : refuse("#results.summary", "its sums do not fit its tests");
}

function parseGuard(bytes: Uint8Array | undefined): Guard | null {
  try {
    return guardSchema.parse(JSON.parse(decodeUtf8(bytes ?? new Uint8Array())));
  } catch {
    return null;
  }
}

const isText = (bytes: Uint8Array): string | null => {
  try {
    return decodeUtf8(bytes);
  } catch {
    return null;
  }
};

const guardForm: Problem = {
  code: "bundle.document-form",
  message: "the document does not fit its schema",
  where: bundlePaths.guard,
  rule: "guard.json is a document of the form infradev-guard/1",
  remedy: "grade again with a current runner",
};

async function verifyCollected(
  { files, kept, archive }: Collected & { archive: { sha256: string; bytes: number } },
  options: VerifyOptions,
): Promise<VerificationReport> {
  const checks: Check[] = [
    checkOf(
      "archive",
      "The archive is canonical: one gzip member, sorted regular files, nothing after the end",
      `${files.size} entries, ${archive.bytes} bytes, sha256 ${archive.sha256}`,
      [],
    ),
  ];
  const declared = options.expect?.bundleSha256;
  if (declared !== undefined)
    checks.push(
      checkOf(
        "archive-digest",
        "The archive's digest is the declared one",
        archive.sha256,
        declared === archive.sha256
          ? []
          : [
              {
                code: "bundle.archive-mismatch",
                message: `the archive has sha256 ${archive.sha256}, declared was ${declared}`,
                where: "archive",
                rule: "the runner declares the archive's digest, signed, when it finishes",
                remedy: "send the archive again, whole and unchanged",
              },
            ],
      ),
    );
  const report = (ok: boolean, contents: BundleContents | null): VerificationReport => ({
    ok: ok && checks.every((check) => check.ok),
    checks,
    archive,
    notChecked: notCheckedOf(options, files),
    contents,
  });

  const sumsBytes = kept.get(bundlePaths.sums);
  const sums = sumsBytes
    ? parseSums(sumsBytes)
    : { problem: fileProblem("bundle.missing-file", bundlePaths.sums, "the archive has no SHA256SUMS") };
  const label = "Every file has its listed digest, none is unlisted, none is missing";
  if ("problem" in sums) {
    checks.push(checkOf("files", label, "", [sums.problem]));
    return report(false, null);
  }
  const listed = new Map(sums.files.map(({ path, sha256 }) => [path, sha256]));
  checks.push(checkOf("files", label, `${listed.size} files`, fileProblems(listed, files)));

  const envelopes = kept.get(bundlePaths.envelopes);
  const envelopeText = envelopes ? isText(envelopes) : null;
  if (envelopeText === null) {
    const problem = envelopes
      ? { ...fileProblem("bundle.envelope-form", bundlePaths.envelopes, "the statements are not UTF-8") }
      : fileProblem("bundle.missing-file", bundlePaths.envelopes, "the archive has no bundle.intoto.jsonl");
    checks.push(checkOf("envelopes", "Two signed statements, spelled canonically", "", [problem]));
    return report(false, null);
  }
  const sumsSha256 = files.get(bundlePaths.sums)?.sha256 ?? "";
  const evidence = await verifyEvidence({
    bundleSha256: archive.sha256,
    envelopes: envelopeText,
    sumsSha256,
    digests: new Map([...files].map(([path, file]) => [path, file.sha256])),
    documents: kept,
    keys: options.keys,
    receipt: options.receipt,
    log: options.log,
    receivedAt: options.receivedAt,
    expect: options.expect,
  });
  checks.push(...evidence.checks);
  const guard = parseGuard(kept.get(bundlePaths.guard));
  checks.push(
    checkOf(
      "side-documents",
      "The guard's report and the CTRF document fit schema and result",
      "guard.json, tests.ctrf.json",
      [
        ...(guard ? [] : [guardForm]),
        ...(guard && evidence.contents ? checkGuard(guard, evidence.contents.result) : []),
        ...(evidence.contents ? ctrfProblems(kept.get(bundlePaths.ctrf), evidence.contents.result) : []),
      ],
    ),
  );
  const contents: BundleContents | null =
    evidence.contents && guard
      ? {
          ...evidence.contents,
          guard,
          envelopes: envelopeText,
          sums: decodeUtf8(sumsBytes ?? new Uint8Array()),
          sumsSha256,
          files: sums.files.flatMap(({ path }) => files.get(path) ?? []),
        }
      : null;
  return report(contents !== null, contents);
}

const refusedArchive = (problem: Problem): VerificationReport => ({
  ok: false,
  checks: [checkOf("archive", "The archive can be read and is canonical", "", [problem])],
  archive: null,
  notChecked: ["everything else: the archive was refused first"],
  contents: null,
});

function notCheckedOf(options: VerifyOptions, files: ReadonlyMap<string, BundleFile>): string[] {
  return [
    ...(options.receipt ? [] : ["the server's receipt: none was given, so nothing shows when the bundle was received"]),
    ...(options.log && options.receipt ? [] : ["inclusion in the log: no proof was given"]),
    ...(files.has(bundlePaths.sealed)
      ? ["what sealed.tar.gz holds: its digest is checked, its content stays closed"]
      : []),
  ];
}

/**
 * Verifies a bundle, as ingest and `runner verify` both do it: the archive's form, every digest, signatures, keys,
 * documents, completeness, arithmetic, statements, and receipt and inclusion where they are given. Whatever is wrong
 * with the evidence is a check that does not hold, never an exception; only faults of the machine (a file that cannot
 * be read, a full disk) are thrown.
 */
export async function verifyBundle(
  source: string | AsyncIterable<Uint8Array>,
  options: VerifyOptions,
): Promise<VerificationReport> {
  const extraction = options.extractTo === undefined ? null : new AtomicExtraction(options.extractTo);
  try {
    const collected = await collect(source, extraction).catch((error: unknown) => {
      if (error instanceof InfraDevError) return error.problem;
      throw error;
    });
    if ("code" in collected) return refusedArchive(collected);
    const report = await verifyCollected(collected, options);
    if (report.ok) await extraction?.commit();
    return report;
  } finally {
    await extraction?.discard();
  }
}
