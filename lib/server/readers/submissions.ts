import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { type BoardParams, findBoardFacts } from "@/db/queries/board";
import { findEntrySubmission } from "@/db/queries/changes";
import { findAttempt, findSubmission, type SubmissionFacts } from "@/db/queries/submissions";
import { findTrajectory } from "@/db/queries/trajectories";
import type { AttemptDetail, BoardRow, SubmissionDetail } from "@/lib/contract/api";
import type { BoardFacts } from "@/lib/contract/board-facts";
import { slugSchema, uuidSchema } from "@/lib/contract/scalars";
import { prepareBoard } from "@/lib/prepare/board";
import { getDatabase, getServerContext } from "../context";
import { redactHiddenProbes } from "../redact";
import { cacheTags } from "../tags";

/** A patch longer than this is cut on its page; the whole file is among the evidence. */
const shownPatchBytes = 512 * 1024;

/** A submission with its board row and attempts; null where there is none, or it was withdrawn. */
export async function getSubmission(id: string): Promise<SubmissionDetail | null> {
  if (!uuidSchema.safeParse(id).success) return null;
  return cachedSubmission(id.toLowerCase());
}

async function cachedSubmission(id: string): Promise<SubmissionDetail | null> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.submission(id));
  cacheLife("hours");
  const submission = await findSubmission(getDatabase().db, id);
  if (!submission) return null;
  // The row's rank set depends on every other row of its board.
  cacheTag(cacheTags.board(submission.suite.slug));
  return { ...submission, row: await boardRowOf(submission) };
}

/** Id of an entry's newest published submission; null where there is none. */
export async function getEntrySubmission(entrySlug: string): Promise<string | null> {
  return slugSchema.safeParse(entrySlug).success ? findEntrySubmission(getDatabase().sql, entrySlug) : null;
}

/** The newest attempt of a submission at a task, with what its counting grading says; null where there is none. */
export async function getAttempt(submissionId: string, task: string): Promise<AttemptDetail | null> {
  if (!uuidSchema.safeParse(submissionId).success || !slugSchema.safeParse(task).success) return null;
  return cachedAttempt(submissionId.toLowerCase(), task);
}

async function cachedAttempt(submissionId: string, task: string): Promise<AttemptDetail | null> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.submission(submissionId));
  cacheLife("hours");
  const found = await findAttempt(getDatabase().db, { submissionId, task });
  if (!found) return null;
  const { attempt, ...rest } = found;
  const told = await findTrajectory(getDatabase().sql, attempt.id);
  return redactHiddenProbes({
    ...rest,
    attempt: {
      id: attempt.id,
      label: attempt.label,
      patchSha256: attempt.patchSha256,
      ...(await patchText(attempt)),
      trajectory: told?.trajectory ?? null,
    },
  });
}

async function patchText(attempt: { patchSha256: string; patchBytes: number }) {
  const { blobs } = await getServerContext();
  const truncated = attempt.patchBytes > shownPatchBytes;
  const chunks: Buffer[] = [];
  if (attempt.patchBytes > 0) {
    const range = { start: 0, end: Math.min(attempt.patchBytes, shownPatchBytes) - 1 };
    for await (const chunk of await blobs.read(attempt.patchSha256, range)) chunks.push(chunk as Buffer);
  }
  return { patch: Buffer.concat(chunks).toString("utf8"), patchTruncated: truncated };
}

/** The row as its board shows it. A submission that its board does not show has a row too, without a rank set. */
async function boardRowOf(submission: SubmissionFacts): Promise<BoardRow> {
  const params: BoardParams = {
    suite: submission.suite.slug,
    version: submission.suite.version,
    promptCondition: submission.candidate.promptCondition,
    skill: submission.candidate.skill?.name ?? null,
  };
  const { db } = getDatabase();
  const facts = await findBoardFacts(db, params);
  if (!facts) throw new Error(`suite ${params.suite} ${params.version} of submission ${submission.id} is missing`);
  const rowIn = (of: BoardFacts) => {
    const board = prepareBoard(of);
    return [...board.rows, ...board.references].find((row) => row.submissionId === submission.id);
  };
  const shown = rowIn(facts);
  if (shown) return shown;
  const alone = await findBoardFacts(db, { ...params, submissionId: submission.id });
  const row = rowIn(alone && alone.rows.length > 0 ? alone : { ...facts, rows: [ungradedRow(submission)] });
  if (!row) throw new Error(`submission ${submission.id} has no row`);
  return { ...row, rankSet: null };
}

function ungradedRow(submission: SubmissionFacts): BoardFacts["rows"][number] {
  const { candidate } = submission;
  return {
    entry: {
      slug: submission.entrySlug,
      kind: candidate.kind,
      model: candidate.model,
      agent: candidate.agent,
      agentVersion: candidate.agentVersion,
      reasoningEffort: candidate.reasoningEffort,
      networkPolicy: candidate.networkPolicy,
    },
    submissionId: submission.id,
    organization: submission.organization,
    tier: submission.tier,
    evidence: { kind: "graded", tasks: [] },
    timeMin: null,
    costUsd: null,
    tokensM: null,
    steps: null,
    footnotes: [],
    date: submission.createdAt,
  };
}
