import "./without-eval";
import { bundlePaths } from "../contract/bundle";
import type { Problem } from "../contract/errors";
import { InfraDevError, problemFromZod } from "../contract/errors";
import { type EvidenceResponse, evidenceResponseSchema, type ShownFigures } from "../contract/evidence-api";
import type { Result } from "../contract/result";
import { sha256Hex, utf8 } from "./bytes";
import { spkiOfRaw, verifySignature } from "./keys";
import { differences } from "./statements";
import { parseSums } from "./sums";
import type { Check } from "./verify-evidence";
import { checkOf, verifyEvidence } from "./verify-evidence";

/** What the page's own check found. */
export interface PageVerification {
  ok: boolean;
  checks: Check[];
  /** What this check cannot show, in sentences. */
  notProven: string[];
}

/** Files whose bytes the page fetches and hashes. */
const fetchedPaths = [
  bundlePaths.result,
  bundlePaths.manifest,
  bundlePaths.runLock,
  bundlePaths.host,
  bundlePaths.patch,
] as const;

// A public key of RFC 8032's first test: a browser that can verify Ed25519 answers, whatever the answer.
const probeKey = spkiOfRaw(new Uint8Array(32).fill(1));

async function requireEd25519(): Promise<void> {
  try {
    await verifySignature(probeKey, new Uint8Array(), new Uint8Array(64));
  } catch (cause) {
    throw new InfraDevError(
      "unavailable",
      {
        code: "browser.no-ed25519",
        message: "this browser cannot verify Ed25519 signatures (WebCrypto), or the page is not served over HTTPS",
        rule: "the check runs in the page, with the browser's own cryptography",
        remedy: "use a current browser over HTTPS, or verify with `runner verify` or by hand",
      },
      { cause },
    );
  }
}

export type Fetch = (url: string) => Promise<Response>;

async function get(fetchUrl: Fetch, url: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetchUrl(url);
  } catch (cause) {
    throw new InfraDevError(
      "unavailable",
      { code: "evidence.unreachable", message: "the evidence could not be fetched", where: url, remedy: "try again" },
      { cause },
    );
  }
  if (response.ok) return response;
  throw new InfraDevError("unavailable", {
    code: "evidence.unavailable",
    message: `the server answered ${response.status}`,
    where: url,
    rule: "the evidence of every shown grading can be fetched",
    remedy: "try again; if it stays so, verify the downloaded bundle with `runner verify`",
  });
}

async function fetchEvidence(gradingId: string, fetchUrl: Fetch): Promise<EvidenceResponse> {
  const url = `/api/v1/gradings/${encodeURIComponent(gradingId)}/evidence`;
  const parsed = evidenceResponseSchema.safeParse(await (await get(fetchUrl, url)).json().catch(() => null));
  if (parsed.success) return parsed.data;
  throw new InfraDevError(
    "invalid",
    problemFromZod(parsed.error, { code: "evidence.form", what: "the evidence does not fit its schema", where: url }),
  );
}

/** Names each figure of the page that differs from the signed result. */
function shownProblems(shown: ShownFigures, result: Result): Problem[] {
  const expected = {
    status: result.status,
    summary: result.summary,
    tests: Object.fromEntries(result.tests.map(({ id, status }) => [id, status])),
  };
  const actual = {
    status: shown.status,
    summary: shown.summary,
    tests: Object.fromEntries(shown.tests.map(({ id, status }) => [id, status])),
  };
  return differences(expected, actual).map((difference) => ({
    code: "page.figure-mismatch",
    message: `the page shows ${difference.actual}, the signed result says ${difference.expected}`,
    where: difference.path,
    rule: "every figure on the page is the signed one",
    remedy: "reload the page; if it stays so, the page does not show what was signed",
  }));
}

/**
 * Fetches a grading's evidence and checks it in the page: signatures, digests of the files fetched, statements against
 * files, receipt, inclusion, and the page's own figures. Throws InfraDevError where it cannot be checked at all
 * (`browser.no-ed25519`, `evidence.unreachable`, `evidence.unavailable`, `evidence.form`).
 */
export async function verifyInPage(
  gradingId: string,
  shown: ShownFigures,
  fetchUrl: Fetch = (url) => fetch(url, { credentials: "omit", cache: "no-store" }),
): Promise<PageVerification> {
  await requireEd25519();
  const evidence = await fetchEvidence(gradingId, fetchUrl);
  const sums = utf8(evidence.sums);
  const documents = new Map<string, Uint8Array>();
  const digests = new Map<string, string>();
  await Promise.all(
    fetchedPaths.map(async (path) => {
      const url = evidence.files[path];
      if (url === undefined) return;
      const bytes = new Uint8Array(await (await get(fetchUrl, url)).arrayBuffer());
      documents.set(path, bytes);
      digests.set(path, await sha256Hex(bytes));
    }),
  );
  const checks: Check[] = [
    checkOf(
      "files",
      `The ${fetchedPaths.length} files fetched have the listed digests`,
      fetchedPaths.map((path) => path.slice(bundlePaths.payload.length)).join(", "),
      listedProblems(sums, digests),
    ),
  ];
  const report = await verifyEvidence({
    bundleSha256: evidence.bundle.sha256,
    envelopes: evidence.envelopes,
    sumsSha256: await sha256Hex(sums),
    digests,
    documents,
    keys: evidence.keys.keys,
    receipt: evidence.receipt,
    log: evidence.log,
    expect: { gradingId },
  });
  checks.push(...report.checks);
  if (report.contents)
    checks.push(
      checkOf(
        "shown",
        "The figures on this page are the signed ones",
        `${shown.tests.length} verdicts and the summary`,
        shownProblems(shown, report.contents.result),
      ),
    );
  return {
    ok: report.contents !== null && checks.every(({ ok }) => ok),
    checks,
    notProven: notProven(evidence),
  };
}

function listedProblems(sums: Uint8Array, digests: ReadonlyMap<string, string>): Problem[] {
  const parsed = parseSums(sums);
  if ("problem" in parsed) return [parsed.problem];
  const listed = new Map(parsed.files.map(({ path, sha256 }) => [path, sha256]));
  return fetchedPaths.flatMap((path) => {
    const digest = digests.get(path);
    if (digest !== undefined && digest === listed.get(path)) return [];
    return [
      {
        code: digest === undefined ? "bundle.missing-file" : "bundle.digest-mismatch",
        message:
          digest === undefined
            ? "the server does not give out this file"
            : `the file has sha256 ${digest}, SHA256SUMS says ${listed.get(path) ?? "nothing"}`,
        where: path,
        rule: "each file has the digest that the signed list names",
        remedy: "reload; if it stays so, the stored file is not the one that was signed",
      },
    ];
  });
}

function notProven(evidence: EvidenceResponse): string[] {
  return [
    "This check still trusts this site for its script and for the list of keys. `runner verify` with pinned keys trusts no server.",
    "A signature shows who vouches for the run, not that the host's operator is honest.",
    "Logs, event streams and the archive itself are not fetched here; their digests stand in the signed SHA256SUMS.",
    ...(evidence.receipt ? [] : ["There is no receipt, so nothing shows when the bundle was received."]),
    ...(evidence.log ? [] : ["There is no inclusion proof, so nothing shows that the log holds this bundle."]),
  ];
}
