import "server-only";
import { findAttemptForGrading } from "@/db/queries/ingest";
import type { LeaseRow } from "@/db/queries/queue";
import type { ServerContext } from "../context";
import { sendBlob } from "../send-blob";

/** The candidate's patch, for the host that holds a lease on its grading. */
export async function sendPatch(context: ServerContext, request: Request, lease: LeaseRow): Promise<Response> {
  const attempt = await findAttemptForGrading(context.database.sql, lease.attemptId);
  if (!attempt) throw new Error(`lease ${lease.id} has no attempt`);
  return sendBlob(context, request, {
    sha256: attempt.patchSha256,
    bytes: attempt.patchBytes,
    contentType: "text/x-diff; charset=utf-8",
    fileName: "patch.diff",
    visibility: "private",
  });
}
