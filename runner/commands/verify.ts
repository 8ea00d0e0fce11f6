import { resolve } from "node:path";
import type { Command } from "commander";
import { bundleLimits, type DsseEnvelope, dsseEnvelopeSchema, type PublishedKey } from "@/lib/contract/bundle";
import { InfraDevError, type Problem, problemFromZod } from "@/lib/contract/errors";
import { type EvidenceResponse, evidenceResponseSchema } from "@/lib/contract/evidence-api";
import { type VerificationReport, verifyBundle } from "@/lib/evidence/node/verify-bundle";
import { checkOf } from "@/lib/evidence/verify-evidence";
import { parseServerUrl } from "../attach/server-api";
import { readGivenFile } from "../given-file";
import { requireFile } from "../input-file";
import { exitCodes, formatBytes, type Output } from "../terminal/output";
import { atServer, isRefusedPort } from "../terminal/unreachable";
import { withinTime } from "../within-time";
import { parseKeys, readKeys } from "./given-keys";
import { runCommand } from "./run-command";

type VerifyCommandOptions = { keys?: string; server?: string; receipt?: string; json?: boolean };

const answerLimitMs = 30_000;
const { documentBytes: maxBytes } = bundleLimits;
const receiptRemedy = "give the file <grading-id>.receipt.intoto.jsonl as the server wrote it";

/** What this text says in JSON; null, which every schema refuses, where it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function readReceipt(name: string, signal: AbortSignal): Promise<DsseEnvelope> {
  const use = { option: "--receipt", code: "usage.receipt-form", maxBytes, remedy: receiptRemedy, signal };
  const text = (await readGivenFile(name, use)).toString();
  const parsed = dsseEnvelopeSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new InfraDevError(
    "invalid",
    problemFromZod(parsed.error, {
      code: "usage.receipt-form",
      what: "the receipt is no signed envelope",
      where: resolve(name),
      remedy: receiptRemedy,
    }),
  );
}

/** A server's whole answer. */
async function fetchFrom(
  server: URL,
  path: string,
  signal: AbortSignal,
): Promise<{ ok: boolean; status: number; text: string }> {
  const url = new URL(path, server);
  try {
    return await withinTime(answerLimitMs, signal, async (within) => {
      const response = await fetch(url, { signal: within });
      return { ok: response.ok, status: response.status, text: await response.text() };
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    if (isRefusedPort(cause)) return atServer(server)(cause);
    throw new InfraDevError(
      "unavailable",
      {
        code: "environment.unreachable",
        message: "the server does not answer",
        where: url.href,
        rule: "with --server, receipt and inclusion proof (and keys, unless pinned) come from the server",
        remedy: "check the address and the network, or verify offline with --keys and --receipt",
      },
      { cause },
    );
  }
}

async function fetchKeys(server: URL, signal: AbortSignal): Promise<PublishedKey[]> {
  const path = "/.well-known/infradev-keys.json";
  const response = await fetchFrom(server, path, signal);
  if (!response.ok) throw unexpectedAnswer(server, path, response.status);
  return parseKeys(response.text, new URL(path, server).href);
}

/** What the server holds about a grading; null where it knows none of this id. */
async function fetchEvidence(server: URL, gradingId: string, signal: AbortSignal): Promise<EvidenceResponse | null> {
  const path = `/api/v1/gradings/${gradingId}/evidence`;
  const response = await fetchFrom(server, path, signal);
  if (response.status === 404) return null;
  if (!response.ok) throw unexpectedAnswer(server, path, response.status);
  const parsed = evidenceResponseSchema.safeParse(parseJson(response.text));
  if (parsed.success) return parsed.data;
  throw new InfraDevError(
    "unavailable",
    problemFromZod(parsed.error, {
      code: "environment.unexpected-answer",
      what: "the server's evidence",
      where: new URL(path, server).href,
      remedy: "use a runner of the server's version",
    }),
  );
}

const unexpectedAnswer = (server: URL, path: string, status: number) =>
  new InfraDevError("unavailable", {
    code: "environment.unexpected-answer",
    message: `the server answered ${status}`,
    where: new URL(path, server).href,
    rule: "with --server, receipt and inclusion proof (and keys, unless pinned) come from the server",
    remedy: "check the address, or verify offline with --keys and --receipt",
  });

interface Verified {
  report: VerificationReport;
  /** Who has to be trusted for the keys. */
  keysFrom: string;
}

async function verify(
  bundle: string,
  options: VerifyCommandOptions,
  output: Output,
  signal: AbortSignal,
): Promise<Verified> {
  const server = options.server === undefined ? null : parseServerUrl(options.server);
  if (options.keys === undefined && !server)
    throw new InfraDevError("invalid", {
      code: "usage.no-keys",
      message: "nothing says which keys to trust",
      where: "--keys, --server",
      rule: "a signature means something only against known keys",
      remedy: "pin them with --keys FILE, or take the server's with --server URL",
    });
  await requireFile(bundle, {
    code: "usage.bundle-missing",
    rule: "name the bundle's archive, <grading-id>.infradev.tar.gz",
    remedy: "check the path",
  });
  const pinned = options.keys === undefined ? null : await readKeys(options.keys, signal);
  const keys = pinned ?? (server ? await fetchKeys(server, signal) : []);
  const given = options.receipt === undefined ? null : await readReceipt(options.receipt, signal);
  output.status(`reading ${bundle}`);
  const report = await verifyBundle(bundle, { keys, receipt: given });
  const keysFrom = pinned
    ? `pinned in ${options.keys}; no server is trusted`
    : `as ${server?.origin} lists them today; that server is trusted for them`;
  const gradingId = report.contents?.result.gradingId;
  if (!server || gradingId === undefined) return { report, keysFrom };

  output.status(`asking ${server.origin} for receipt and inclusion proof`);
  const evidence = await fetchEvidence(server, gradingId, signal);
  const receipt = given ?? evidence?.receipt ?? null;
  const log = evidence?.log ?? null;
  const complete = await verifyBundle(bundle, { keys, receipt, log });
  const lacking: Problem[] = [
    ...(receipt ? [] : [lack("receipt.missing", "receipt", server)]),
    ...(log ? [] : [lack("log.missing", "inclusion proof", server)]),
  ];
  if (lacking.length > 0)
    complete.checks.push(
      checkOf("server", `${server.origin} holds this grading's receipt and inclusion proof`, "", lacking),
    );
  return { report: { ...complete, ok: complete.ok && lacking.length === 0 }, keysFrom };
}

const lack = (code: string, what: string, server: URL): Problem => ({
  code,
  message: `the server has no ${what} for this grading`,
  where: server.href,
  rule: "with --server, receipt and inclusion proof must be there and hold",
  remedy: "verify without --server, or send the bundle to that server first",
});

function print(output: Output, bundle: string, { report, keysFrom }: Verified): void {
  output.line(`${bundle}${report.archive ? `  (${formatBytes(report.archive.bytes)})` : ""}`);
  output.line();
  for (const check of report.checks) {
    const mark = check.ok ? output.paint("green", "ok    ") : output.paint("red", "FAILED");
    output.line(`${mark}  ${check.label}`);
    if (check.ok) output.line(output.paint("dim", `        ${check.detail}`));
    for (const problem of check.problems) {
      output.line(`        ${problem.message} [${problem.code}]`);
      if (problem.where) output.line(`          where:  ${problem.where}`);
      if (problem.rule) output.line(`          rule:   ${problem.rule}`);
      if (problem.remedy) output.line(`          remedy: ${problem.remedy}`);
    }
  }
  output.line();
  output.line(`Keys: ${keysFrom}.`);
  if (report.ok && report.contents) {
    const { runResult, key, receipt } = report.contents;
    const { grading, task, outcome } = runResult.predicate;
    output.line(
      `Proves: the holder of key ${key.keyid.slice(0, 12)}… (${key.owner}) signed exactly these bytes as grading ${grading.id} of ${task.suite} ${task.suiteVersion} / ${task.slug}: ${outcome.requiredPassed} of ${outcome.requiredTotal} required tests passed, ${outcome.resolved ? "resolved" : "not resolved"}; every figure follows from the files.`,
    );
    if (receipt)
      output.line(`        The server received it at ${receipt.predicate.receivedAt} (${receipt.predicate.verdict}).`);
    output.line("Does not prove: that the host's operator is honest, or that a run on another host agrees.");
  }
  for (const sentence of report.notChecked) output.line(`Not checked: ${sentence}.`);
  output.line();
  const failed = report.checks.filter((check) => !check.ok).length;
  output.line(
    report.ok
      ? output.paint("green", "verified")
      : output.paint("red", `refused: ${failed} of ${report.checks.length} checks do not hold`),
  );
}

/** `runner verify`: exit 0 where everything holds, 1 where the evidence does not, 2 on wrong use. */
export function registerVerify(program: Command): void {
  program
    .command("verify <bundle>")
    .description("check a bundle: signatures, digests, completeness, arithmetic, receipt, inclusion")
    .option("--keys <file>", "pinned keys: a saved /.well-known/infradev-keys.json, or one public key in PEM")
    .option("--server <url>", "take receipt and inclusion proof from this server, and its keys unless pinned")
    .option("--receipt <file>", "the server's receipt, <grading-id>.receipt.intoto.jsonl")
    .option("--json", "one JSON document on stdout")
    .action((bundle: string, options: VerifyCommandOptions) =>
      runCommand(options, async (output, signal) => {
        const verified = await verify(resolve(bundle), options, output, signal);
        const { report, keysFrom } = verified;
        print(output, bundle, verified);
        output.result({
          ok: report.ok,
          keysFrom,
          checks: report.checks,
          notChecked: report.notChecked,
          archive: report.archive,
          grading: report.contents?.runResult.predicate ?? null,
          receipt: report.contents?.receipt?.predicate ?? null,
        });
        return report.ok ? exitCodes.ok : exitCodes.failed;
      }),
    );
}
