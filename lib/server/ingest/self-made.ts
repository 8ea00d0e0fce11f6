import "server-only";
import type { z } from "zod";
import { writableIn } from "@/db/client";
import { recordEntry } from "@/db/queries/entries";
import { findKey, type KeyRow } from "@/db/queries/hosts";
import {
  type ExistingGrading,
  ensureUpload,
  ensureVendorAttempt,
  findAcceptedGrading,
  findTask,
  findUpload,
  type UploadRow,
} from "@/db/queries/ingest";
import { isLeasedGrading } from "@/db/queries/queue";
import { listSuites, listTasks } from "@/db/queries/suites";
import { bundlePaths } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import { uuidSchema } from "@/lib/contract/scalars";
import {
  type UploadAnnounce,
  type UploadFinishResponse,
  uploadAnnouncementText,
  type uploadAnnounceResponseSchema,
} from "@/lib/contract/upload";
import { utf8 } from "@/lib/evidence/bytes";
import { verifySignature } from "@/lib/evidence/keys";
import type { BundleContents } from "@/lib/evidence/node/verify-bundle";
import { base64Field } from "../base64-field";
import type { ServerContext } from "../context";
import { announceBundle, appendBundle } from "../runners/bundle-upload";
import { keepSelfTests, readSelfTests } from "../self-tests";
import { keepTrajectory, takeTrajectory } from "../trajectories";
import type { UploadProgress } from "../upload-store";
import {
  checkAgainstTask,
  recordVerified,
  refuseUnstorable,
  replayed,
  requireKeyInForce,
  settle,
  verifyUploaded,
} from "./ingest";
import { receiptOf } from "./receipt";
import { unpackPayload } from "./unpack";

/** Opens or finds the upload of a self-made bundle, for the holder of a registered vendor key. */
export async function announceSelfMade(
  context: ServerContext,
  announcement: UploadAnnounce,
): Promise<z.infer<typeof uploadAnnounceResponseSchema>> {
  const key = await requireVendorKey(context, announcement.keyid);
  const text = utf8(uploadAnnouncementText(announcement));
  if (!(await verifySignature(new Uint8Array(key.spki), text, base64Field(announcement.signature, "body#signature")))) {
    throw new InfraDevError("forbidden", {
      code: "upload.signature-invalid",
      message: "the signature is not this key's over the announcement",
      where: "body#signature",
      rule: "Ed25519 over 'infradev-upload/1 <sha256> <bytes>'",
      remedy: "sign with the key that was registered",
    });
  }
  const { sha256, bytes, keyid } = announcement;
  const id = await context.database.sql.begin((tx) => ensureUpload(tx, { keyid, sha256, bytes }));
  return { id, ...(await announceBundle(context, id, { sha256, bytes })) };
}

export async function appendSelfMade(
  context: ServerContext,
  id: string,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): Promise<UploadProgress> {
  const upload = await requireUpload(context, id);
  return appendBundle(context, upload.id, offset, body);
}

/**
 * Verifies a self-made bundle and records it with tier `signed`. It stands in a submission of the key's organization
 * that a maintainer publishes; it never displaces what a trusted host has graded.
 */
export async function finishSelfMade(context: ServerContext, id: string): Promise<UploadFinishResponse> {
  const upload = await requireUpload(context, id);
  const key = await requireVendorKey(context, upload.keyid);
  const bundleSha256 = upload.sha256;
  const existing = await findAcceptedGrading(context.database.sql, { bundleSha256 });
  if (existing) return acceptedBefore(existing, upload);

  const receivedAt = new Date();
  const opened = await verifyUploaded(context, bundleSha256, receivedAt, {
    attemptId: null,
    lease: null,
    keyid: upload.keyid,
  });
  const { contents } = opened;
  const task = await findTask(context.database.sql, {
    suite: contents.result.suite.slug,
    version: contents.result.suite.version,
    slug: contents.result.task,
  });
  if (!task) throw await unknownTask(context, contents);
  checkAgainstTask(contents, task);
  checkCandidate(contents);
  const { patchSha256, promptDigest: _promptDigest, ...configuration } = contents.runResult.predicate.candidate;
  const patch = contents.files.find((file) => file.path === bundlePaths.patch);
  // An attempt's patch is a blob of its own; here it comes with the bundle.
  await unpackPayload(context, { bundleSha256, files: opened.files });
  const selfTests = await readSelfTests(context, patchSha256);
  const told = contents.files.find((file) => file.path === bundlePaths.trajectory);
  const trajectory = told && (await takeTrajectory(context, told, bundlePaths.trajectory));

  const { answer, tags } = await context.database.sql
    .begin(async (tx) => {
      await requireKeyInForce(tx, upload.keyid, receivedAt);
      if (await isLeasedGrading(tx, contents.result.gradingId)) throw leasedGrading(contents.result.gradingId);
      const entryId = await recordEntry(writableIn(tx), configuration);
      const attempt = await ensureVendorAttempt(tx, {
        suiteId: task.suiteId,
        entryId,
        organizationId: key.organizationId,
        taskId: task.id,
        patchSha256,
        patchBytes: patch?.bytes ?? 0,
      });
      // From here on no other request records this entry's bundles.
      const raced = await findAcceptedGrading(tx, { bundleSha256 });
      if (raced) return { answer: acceptedBefore(raced, upload), tags: [] };
      const taken = await findAcceptedGrading(tx, { gradingId: contents.result.gradingId });
      if (taken) throw replayed(taken, contents.result.gradingId);
      await recordVerified(tx, task, contents, {
        attemptId: attempt.attemptId,
        leaseId: null,
        nonce: null,
        hostId: null,
        tier: "signed",
        late: false,
        receivedAt,
        bundleSha256,
        bundleBytes: opened.bytes,
        files: opened.files,
      });
      await keepSelfTests(tx, attempt.attemptId, selfTests);
      if (trajectory) await keepTrajectory(tx, attempt.attemptId, trajectory);
      const { receipt, touched } = await settle(context, tx, contents, {
        submissionId: attempt.submissionId,
        bundleSha256,
        receivedAt,
        verdict: "accepted",
      });
      return {
        answer: {
          verdict: "accepted" as const,
          gradingId: contents.result.gradingId,
          submissionId: attempt.submissionId,
          tier: "signed" as const,
          receipt,
        },
        tags: touched,
      };
    })
    .catch(refuseUnstorable);
  context.expireTags(tags);
  return answer;
}

async function requireVendorKey(context: ServerContext, keyid: string): Promise<KeyRow & { organizationId: number }> {
  const key = await findKey(context.database.sql, keyid);
  if (key?.role !== "vendor" || key.organizationId === null) {
    throw new InfraDevError("forbidden", {
      code: "upload.unknown-key",
      message: key ? "this key is not a vendor's" : "this key is not registered",
      where: `key ${keyid}`,
      rule: "self-made bundles come from the holder of a registered vendor key",
      remedy: "ask a maintainer to register it: npm run admin -- key add",
    });
  }
  return { ...key, organizationId: key.organizationId };
}

async function requireUpload(context: ServerContext, id: string): Promise<UploadRow> {
  const upload = uuidSchema.safeParse(id).success ? await findUpload(context.database.sql, id) : null;
  if (!upload) {
    throw new InfraDevError("not-found", {
      code: "upload.unknown",
      message: "there is no such upload",
      where: id.slice(0, 80),
      rule: "an upload is announced before its bytes are sent",
      remedy: "POST the announcement to /api/v1/uploads and use the id of its answer",
    });
  }
  return upload;
}

function checkCandidate(contents: BundleContents): void {
  const { candidate } = contents.runResult.predicate;
  if (candidate.kind === "reference") {
    throw new InfraDevError("forbidden", {
      code: "upload.reference",
      message: "the bundle's candidate is a reference patch set",
      where: `${bundlePaths.envelopes}#run-result.predicate.candidate.kind`,
      rule: "reference patch sets are graded by maintainers only",
      remedy: "grade with --candidate that names the model and agent",
    });
  }
  const known = contents.manifest.digests.prompts[candidate.promptCondition];
  if (candidate.promptDigest !== null && candidate.promptDigest !== known) {
    throw new InfraDevError("invalid", {
      code: "bundle.prompt-mismatch",
      message: `the agent got a prompt with sha256 ${candidate.promptDigest}, the task's is ${known ?? "not there"}`,
      where: `${bundlePaths.envelopes}#run-result.predicate.candidate.promptDigest`,
      rule: "an entry's prompt condition names the task's own prompt",
      remedy: "run the agent with the prompt of this suite version",
    });
  }
}

function leasedGrading(gradingId: string): InfraDevError {
  return new InfraDevError("conflict", {
    code: "ingest.grading-leased",
    message: `the id ${gradingId} belongs to a grading that this server granted to a host`,
    where: `${bundlePaths.result}#gradingId`,
    rule: "a self-made bundle has a grading id of its own",
    remedy: "grade again; each grading gets an id of its own",
  });
}

async function unknownTask({ database }: ServerContext, contents: BundleContents): Promise<InfraDevError> {
  const { suite, task } = contents.result;
  const known = (await listSuites(database.db)).filter(({ slug }) => slug === suite.slug);
  const version = known.find((one) => one.version === suite.version);
  const tasks = version ? (await listTasks(database.db, version.id)).map(({ slug }) => slug) : [];
  const has =
    tasks.length > 0
      ? `in ${suite.version} of ${suite.slug} it has the tasks ${tasks.join(", ")}`
      : known.length > 0
        ? `of ${suite.slug} it has ${known.map((one) => one.version).join(", ")}`
        : `of ${suite.slug} it has no version`;
  return new InfraDevError("invalid", {
    code: "bundle.unknown-task",
    message: `this server has no task '${task}' in suite ${suite.slug} ${suite.version}`,
    where: bundlePaths.result,
    rule: "bundles are of tasks that the server has",
    remedy: `${has}: grade with what it has, or ask a maintainer to import the suite`,
  });
}

function acceptedBefore(existing: ExistingGrading, upload: UploadRow): UploadFinishResponse {
  const receipt = receiptOf(existing.receipt);
  if (existing.leaseId !== null || !receipt) throw replayed(existing, upload.id);
  return {
    verdict: "accepted",
    gradingId: existing.id,
    submissionId: existing.submissionId,
    tier: existing.tier,
    receipt,
  };
}
