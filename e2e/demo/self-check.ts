import { createReadStream, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { type Board, boardSchema, submissionDetailSchema } from "../../lib/contract/api";
import { bundlePaths } from "../../lib/contract/bundle";
import { type Result, resultSchema } from "../../lib/contract/result";
import { runCommand } from "../stack";

const verifiedAtOnce = 2;

export interface DemoCheckInput {
  siteUrl: string;
  dataDir: string;
  /** The runner's command line. */
  runner: string[];
  env: Record<string, string>;
}

/**
 * Fetches every bundle, verifies each with the runner against the site's published keys, recomputes the board from the
 * bundles alone and compares it with what the site's API says. One line per check.
 */
export async function checkDemo(input: DemoCheckInput): Promise<{ lines: string[]; failed: number }> {
  const lines: string[] = [];
  let failed = 0;
  const check = (holds: boolean, text: string) => {
    lines.push(`${holds ? "ok  " : "FAIL"} ${text}`);
    if (!holds) failed++;
  };

  const board = boardSchema.parse(await getJson(`${input.siteUrl}/api/v1/board?suite=infradev-mini`));
  const keysFile = join(input.dataDir, "published-keys.json");
  writeFileSync(keysFile, JSON.stringify(await getJson(`${input.siteUrl}/.well-known/infradev-keys.json`)));
  const bundlesDir = join(input.dataDir, "bundles");
  mkdirSync(bundlesDir, { recursive: true });

  const verified = async (gradingId: string): Promise<Result> => {
    const file = join(bundlesDir, `${gradingId}.infradev.tar.gz`);
    await download(`${input.siteUrl}/api/v1/gradings/${gradingId}/bundle`, file);
    await runCommand(
      `verify ${gradingId}`,
      [...input.runner, "verify", file, "--keys", keysFile],
      input.env,
      join(input.dataDir, "logs", "verify.log"),
    );
    return resultSchema.parse(JSON.parse(await readEntry(file, bundlePaths.result)));
  };

  const tasks = board.suite.taskCount;
  for (const row of board.references) {
    const submission = submissionDetailSchema.parse(
      await getJson(`${input.siteUrl}/api/v1/submissions/${row.submissionId}`),
    );
    const gradings = submission.attempts.flatMap(({ grading }) => grading ?? []);
    const results: Result[] = [];
    for (let next = 0; next < gradings.length; next += verifiedAtOnce)
      results.push(...(await Promise.all(gradings.slice(next, next + verifiedAtOnce).map(({ id }) => verified(id)))));
    check(
      results.length === tasks,
      `${row.entry.model}: ${results.length} of ${tasks} tasks graded, every bundle verifies`,
    );
    compareRow(row, results, tasks, check);
  }
  const set = (name: string) => board.references.find((row) => row.entry.model === `reference: ${name}`);
  const gold = set("gold");
  const nop = set("nop");
  check(gold?.resolved.resolved === tasks, `gold resolves ${gold?.resolved.resolved ?? "nothing"} of ${tasks}`);
  check(nop?.resolved.resolved === 0, `nop resolves ${nop?.resolved.resolved ?? "nothing"} of ${tasks}`);
  const mutants = board.references.filter((row) => row !== gold && row !== nop);
  check(mutants.length === 4, `${mutants.length} mutant sets`);
  for (const mutant of mutants) {
    const rejected = mutant.probeRejected?.rejected ?? 0;
    check(rejected > 0, `${mutant.entry.model}: on ${rejected} tasks the official tests pass and the probes reject`);
  }
  check(!board.rows.some(({ entry }) => entry.kind === "reference"), "no reference set stands among the ranked rows");
  const published = boardSchema.parse(await getJson(`${input.siteUrl}/api/v1/board?suite=infradev`));
  check(
    published.rows.length === 6 && published.rows.every((row) => row.rankSet?.[0] === 1 && row.rankSet[1] === 6),
    "the six published rows are one tie group: rank set 1-6 each",
  );
  return { lines, failed };
}

/** The board's figures of one row against those counted from its bundles' outcomes. */
function compareRow(
  row: Board["references"][number],
  results: Result[],
  tasks: number,
  check: (holds: boolean, text: string) => void,
): void {
  const verdicts = results.map((result) => {
    const required = result.tests.filter((test) => test.required);
    const passed = required.filter((test) => test.status === "passed");
    const completed = result.status === "completed";
    const official = required.filter((test) => test.kind === "official");
    return {
      resolved: completed && passed.length === required.length,
      officialResolved: completed && official.every((test) => test.status === "passed"),
      passedShare: passed.length / required.length,
    };
  });
  const resolved = verdicts.filter((verdict) => verdict.resolved).length;
  const official = verdicts.filter((verdict) => verdict.officialResolved).length;
  const rejected = verdicts.filter((verdict) => verdict.officialResolved && !verdict.resolved).length;
  const passedPct = (100 * verdicts.reduce((sum, verdict) => sum + verdict.passedShare, 0)) / tasks;
  const same =
    row.resolved.resolved === resolved &&
    row.officialResolved?.resolved === official &&
    row.probeRejected?.rejected === rejected &&
    Math.abs((row.passedPct ?? Number.NaN) - passedPct) < 1e-9;
  check(
    same,
    `${row.entry.model}: the board says what the bundles give: ${resolved} resolved, ${official} by official tests alone, ${passedPct.toFixed(1)} % passed`,
  );
}

async function getJson(url: string): Promise<unknown> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
  return answer.json();
}

async function download(url: string, file: string): Promise<void> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  writeFileSync(`${file}.part`, new Uint8Array(await answer.arrayBuffer()));
  renameSync(`${file}.part`, file);
}

/** One file's text out of a bundle. */
function readEntry(bundle: string, path: string): Promise<string> {
  return new Promise((settle, reject) => {
    const chunks: Buffer[] = [];
    const unpack = extract();
    unpack.on("entry", (header, stream, next) => {
      stream.on("data", (chunk) => {
        if (header.name === path) chunks.push(chunk as Buffer);
      });
      stream.on("end", next);
      stream.resume();
    });
    unpack.on("finish", () => settle(Buffer.concat(chunks).toString("utf8")));
    unpack.on("error", reject);
    createReadStream(bundle).on("error", reject).pipe(createGunzip()).on("error", reject).pipe(unpack);
  });
}
