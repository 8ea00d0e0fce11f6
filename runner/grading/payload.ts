import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Guard, HostFacts, Launch, Result, RunLock } from "@/lib/contract/result";
import type { Manifest } from "@/lib/contract/task";
import { measuresDocument, sampleFiles } from "../resources/documents";
import { profilerVariables } from "../resources/nccl";
import type { MeasuredLaunch } from "../resources/settle";
import { ctrfOf, junitOf } from "./documents";
import { type Redactor, redactTexts } from "./redact";

const maxEvidence = 20;

/** Findings as evidence of a reason. */
export const evidenceOf = (findings: Guard["findings"]): string[] =>
  findings.map(({ code, message }) => `${code}: ${message}`).slice(0, maxEvidence);

/** What a candidate named its own tests, as ids that the contract accepts, each once. */
export function extraIdsOf(reported: readonly string[]): string[] {
  const ids = reported.map((id) => id.replace(/\p{Cc}/gu, "\ufffd").slice(0, 400));
  return [...new Set(ids)].filter((id) => id !== "");
}

export type PayloadInput = {
  payloadDir: string;
  /** What would reveal hidden probes; null where probes are open. */
  sealedDir: string | null;
  result: Result;
  manifest: Manifest;
  runLock: RunLock;
  patch: Uint8Array;
  host: HostFacts;
  guard: Guard;
  launches: readonly MeasuredLaunch[];
  redact: Redactor;
};

/** Launches of hidden probes: everything that they printed stays sealed. */
function hiddenGroups(manifest: Manifest): Set<string> {
  const groups = manifest.tests.filter((test) => test.kind === "probe").map((test) => test.group);
  return new Set(manifest.suite.probes === "hidden" ? groups : []);
}

/** Findings as anyone may see them: of hidden probes that there is one, and of which kind. */
function publicGuard(guard: Guard, launches: readonly MeasuredLaunch[], hidden: ReadonlySet<string>): Guard {
  const kept = new Set(launches.filter(({ launch }) => hidden.has(launch.group)).flatMap(({ findings }) => findings));
  return {
    ...guard,
    findings: guard.findings.map((finding) =>
      kept.has(finding)
        ? { code: finding.code, message: "found in a launch of hidden probes; its text is sealed" }
        : finding,
    ),
  };
}

/**
 * A result as anyone may see it: of hidden probes their ids, verdicts and labels, and nothing of what they check.
 * `openExtras` are ids that launches of open tests reported; `guard` is what may be shown.
 */
function publicResult(result: Result, manifest: Manifest, guard: Guard, openExtras: ReadonlySet<string>): Result {
  if (manifest.suite.probes === "open") return result;
  const hidden = hiddenGroups(manifest);
  const tampered = result.status === "tampered" && result.reason !== null;
  return {
    ...result,
    reason: tampered && result.reason ? { ...result.reason, evidence: evidenceOf(guard.findings) } : result.reason,
    extraTests: result.extraTests.filter(({ id }) => openExtras.has(id)),
    // What a launch of hidden probes took, and why it ran, tells what they measure.
    launches: result.launches.map(({ usage, purpose, ...launch }) =>
      hidden.has(launch.group)
        ? launch
        : { ...launch, ...(usage === undefined ? {} : { usage }), ...(purpose === undefined ? {} : { purpose }) },
    ),
    tests: result.tests.map(({ usage, ...test }) =>
      test.kind === "official"
        ? { ...test, ...(usage === undefined ? {} : { usage }) }
        : {
            ...test,
            resources: [],
            ranks: test.ranks.map((outcome) => ({ ...outcome, failure: null, logLine: null })),
          },
    ),
  };
}

/** The replay inputs as anyone may see them: a profiler that a launch of hidden probes has tells what they measure. */
function publicLock(runLock: RunLock, hidden: ReadonlySet<string>): RunLock {
  const withoutProfiler = (env: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(env).filter(([name]) => !profilerVariables.includes(name)));
  return {
    ...runLock,
    launches: runLock.launches.map((launch) =>
      hidden.has(launch.group) ? { ...launch, env: withoutProfiler(launch.env) } : launch,
    ),
  };
}

/** Writes every file of a bundle's payload, and beside it what is sealed. */
export async function writePayload(input: PayloadInput): Promise<void> {
  const { payloadDir, sealedDir, result, manifest, redact } = input;
  const hidden = hiddenGroups(manifest);
  const plain = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  const json = (value: unknown): string => plain(redactTexts(value, redact));
  const whole = redactTexts(result, redact);
  const open = input.launches.filter(({ launch }) => !hidden.has(launch.group));
  const guard = redactTexts(publicGuard(input.guard, input.launches, hidden), redact);
  const shown = publicResult(whole, manifest, guard, new Set(extraIdsOf(open.flatMap(({ extra }) => extra))));
  await put(payloadDir, "result.json", plain(shown));
  await put(payloadDir, "manifest.json", plain(manifest));
  await put(payloadDir, "run.lock.json", json(publicLock(input.runLock, hidden)));
  await put(payloadDir, "patch.diff", input.patch);
  await put(payloadDir, "host.json", json(input.host));
  await put(payloadDir, "tests.ctrf.json", plain(ctrfOf(shown)));
  await put(payloadDir, "guard.json", plain(guard));
  if (sealedDir !== null) {
    await put(sealedDir, "result.json", plain(whole));
    await put(sealedDir, "guard.json", json(input.guard));
    await put(sealedDir, "run.lock.json", json(input.runLock));
    await put(sealedDir, "tests.ctrf.json", plain(ctrfOf(whole)));
  }
  for (const [index, launched] of input.launches.entries()) {
    const target = hidden.has(launched.launch.group) ? sealedDir : payloadDir;
    if (target !== null) await writeLaunch(target, index, launched, redact);
  }
}

async function writeLaunch(target: string, index: number, launched: MeasuredLaunch, redact: Redactor): Promise<void> {
  const { launch } = launched;
  const base = `launch-${index}`;
  await put(target, `resources/${base}.json`, `${JSON.stringify(resourcesOf(launch, launched), null, 2)}\n`);
  for (const [name, text] of Object.entries(sampleFiles(launched.measures))) {
    await put(target, `resources/${base}/${name}`, text);
  }
  for (let rank = 0; rank < launch.nproc; rank += 1) {
    const outcomes = [...launched.outcomes].flatMap(([id, ranks]) => {
      const entry = ranks[rank];
      return entry === undefined ? [] : [{ id, outcome: redactTexts(entry.outcome, redact) }];
    });
    const output = launched.outputs[rank];
    const lines = (launched.eventLines[rank] ?? []).map((line) =>
      JSON.stringify(redactTexts(JSON.parse(line), redact)),
    );
    await put(target, `junit/${base}/rank-${rank}.xml`, junitOf(launch, rank, outcomes));
    await put(target, `events/${base}/rank-${rank}.jsonl`, lines.map((line) => `${line}\n`).join(""));
    await put(target, `ranks/${base}/rank-${rank}.stdout.log`, redact(output?.stdout.toString("utf8") ?? ""));
    await put(target, `ranks/${base}/rank-${rank}.stderr.log`, redact(output?.stderr.toString("utf8") ?? ""));
  }
  for (const { rank, name, text } of launched.evidence) {
    await put(target, `ranks/${base}/rank-${rank}/${name}`, redact(text));
  }
}

function resourcesOf(launch: Launch, launched: MeasuredLaunch): unknown {
  return {
    group: launch.group,
    durationMs: launch.durationMs,
    memoryPeakMb: launched.memoryPeakMb,
    outOfMemoryKills: launched.outOfMemoryKills,
    ranks: launched.usage,
    measured: [...launched.resources.values()].flat(),
    outside: measuresDocument(launched.measures),
  };
}

async function put(folder: string, path: string, content: string | Uint8Array): Promise<void> {
  const target = join(folder, path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
}
