import "server-only";
import type { HostRow } from "@/db/queries/hosts";
import { findAcceptedGrading } from "@/db/queries/ingest";
import { findLease, finishLease, type LeaseRow } from "@/db/queries/queue";
import { recomputeSubmission } from "@/db/queries/summaries";
import { InfraDevError } from "@/lib/contract/errors";
import type { FinishRequest, FinishResponse } from "@/lib/contract/job";
import { utf8 } from "@/lib/evidence/bytes";
import { verifySignature } from "@/lib/evidence/keys";
import { announceTags } from "../announce";
import { base64Field } from "../base64-field";
import type { ServerContext } from "../context";
import { ingestLeasedBundle } from "../ingest/ingest";
import { receiptOf } from "../ingest/receipt";
import { submissionTags } from "../ingest/submission-tags";
import { endJob } from "./end-job";
import { removeLog } from "./live-logs";

const verdicts = ["accepted", "late", "requeued", "recorded"] as const;

/** Ends a lease with its evidence, or without any where none could be made. The same request again gets the same answer. */
export async function finish(
  context: ServerContext,
  host: HostRow,
  lease: LeaseRow,
  request: FinishRequest,
): Promise<FinishResponse> {
  await checkSignature(host, lease, request);
  if (lease.finishStatus !== null) return repeatedAnswer(context, lease, request);
  const answer =
    request.bundleSha256 === null
      ? await finishWithoutEvidence(context, lease, request)
      : await ingestLeasedBundle(context, {
          host,
          lease,
          status: request.status,
          bundleSha256: request.bundleSha256,
          reason: request.reason,
        });
  await removeLog(context, lease.id);
  return answer;
}

async function finishWithoutEvidence(
  context: ServerContext,
  { id }: LeaseRow,
  request: FinishRequest,
): Promise<FinishResponse> {
  if (request.status !== "infra" && request.status !== "canceled") {
    throw new InfraDevError("invalid", {
      code: "finish.bundle-missing",
      message: `a grading that ended as '${request.status}' has a bundle`,
      where: "body#bundleSha256",
      rule: "only 'infra' and 'canceled' may end without evidence",
      remedy: "upload the bundle, then finish with its sha256",
    });
  }
  const { sql } = context.database;
  const { answer, tags } = await sql.begin(async (tx) => {
    const lease = await findLease(tx, id, true);
    if (!lease) throw new Error(`lease ${id} vanished`);
    if (lease.finishStatus !== null) {
      return { answer: await repeatedAnswer(context, lease, request), tags: [] };
    }
    const verdict =
      lease.state === "active"
        ? await endJob(tx, lease, { status: request.status, reason: request.reason })
        : "recorded";
    await finishLease(tx, {
      leaseId: lease.id,
      state: lease.state === "active" ? "finished" : lease.state,
      status: request.status,
      bundleSha256: null,
      verdict,
    });
    await recomputeSubmission(tx, lease.submissionId);
    const touched = await submissionTags(tx, lease.submissionId);
    await announceTags(tx, touched);
    return { answer: { verdict, gradingId: lease.gradingId, receipt: null }, tags: touched };
  });
  context.expireTags(tags);
  return answer;
}

async function checkSignature(host: HostRow, lease: LeaseRow, request: FinishRequest): Promise<void> {
  const text = `${lease.id} ${request.status} ${request.bundleSha256 ?? "-"}`;
  const valid =
    host.spki && (await verifySignature(host.spki, utf8(text), base64Field(request.signature, "body#signature")));
  if (!valid) {
    throw new InfraDevError("forbidden", {
      code: "finish.signature-invalid",
      message: "the signature is not the host's own over what it finishes with",
      where: "body#signature",
      rule: "Ed25519 by the host's key over '<lease id> <status> <bundle sha256 or ->'",
      remedy: "sign with the key that the host registered",
    });
  }
}

async function repeatedAnswer(
  context: ServerContext,
  lease: LeaseRow,
  request: FinishRequest,
): Promise<FinishResponse> {
  if (lease.finishStatus !== request.status || lease.bundleSha256 !== request.bundleSha256) {
    throw new InfraDevError("conflict", {
      code: "finish.differs",
      message: `the lease was finished as '${lease.finishStatus}' with ${lease.bundleSha256 ? `bundle ${lease.bundleSha256}` : "no bundle"}`,
      where: lease.id,
      rule: "a lease is finished once; the same request again gets the same answer",
      remedy: "keep the first result; a regrade is a maintainer's to start",
    });
  }
  const grading = await findAcceptedGrading(context.database.sql, { gradingId: lease.gradingId });
  return {
    verdict: verdicts.find((word) => word === lease.verdict) ?? "recorded",
    gradingId: lease.gradingId,
    receipt: receiptOf(grading?.receipt ?? null),
  };
}
