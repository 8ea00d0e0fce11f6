import "server-only";
import type { z } from "zod";
import { findEvidence, findPayload } from "@/db/queries/evidence";
import { InfraDevError } from "@/lib/contract/errors";
import { type EvidenceResponse, evidenceResponseSchema } from "@/lib/contract/evidence-api";
import { uuidSchema } from "@/lib/contract/scalars";
import { publishedKeys, type ServerContext } from "./context";
import { receiptOf } from "./ingest/receipt";
import { unpackPayload } from "./ingest/unpack";
import { inclusionOf } from "./log/tree";

/** All that the Verify button compares: signatures, digests, receipt, inclusion, and the figures as the pages show them. */
export async function readEvidence(context: ServerContext, gradingId: string): Promise<EvidenceResponse> {
  const found = uuidSchema.safeParse(gradingId).success
    ? await findEvidence(context.database.sql, gradingId.toLowerCase())
    : null;
  if (!found) throw noSuchGrading(gradingId);
  const base = `/api/v1/gradings/${found.id}`;
  const response: z.input<typeof evidenceResponseSchema> = {
    gradingId: found.id,
    suite: { slug: found.suite, version: found.suiteVersion },
    task: found.task,
    bundle: {
      sha256: found.bundleSha256,
      bytes: found.bundleBytes,
      // The archive holds the sealed part where probes are hidden, so it is not given out then.
      url: found.probes === "open" ? `${base}/bundle` : "",
    },
    envelopes: found.envelopes,
    sums: found.sums,
    files: Object.fromEntries(
      found.files.map((path) => [path, `${base}/files/${path.split("/").map(encodeURIComponent).join("/")}`]),
    ),
    receipt: receiptOf(found.receipt),
    log: await inclusionOf(context, found.id),
    keys: await publishedKeys(context),
    shown: { status: found.status, summary: found.summary, tests: found.tests },
  };
  return evidenceResponseSchema.parse(response);
}

/** One file of a grading's payload, as a blob. Throws `grading.no-such-file`; sealed parts are never among them. */
export async function findEvidenceFile(
  context: ServerContext,
  gradingId: string,
  path: string,
): Promise<{ sha256: string; bytes: number }> {
  const payload = uuidSchema.safeParse(gradingId).success
    ? await findPayload(context.database.sql, gradingId.toLowerCase())
    : null;
  if (!payload) throw noSuchGrading(gradingId);
  const file = payload.files.find((one) => one.path === path);
  if (!file) {
    throw new InfraDevError("not-found", {
      code: "grading.no-such-file",
      message: "the grading's payload has no such file",
      where: `${gradingId}/${path.slice(0, 200)}`,
      rule: "files are named as SHA256SUMS lists them, below payload/",
      remedy: `see the list at /api/v1/gradings/${gradingId}/evidence`,
    });
  }
  if (!(await context.blobs.stat(file.sha256))) await unpackPayload(context, payload);
  return { sha256: file.sha256, bytes: file.bytes };
}

/** Unpacks the bundle of a grading that was just accepted, so that nobody waits for it later. */
export async function unpackAccepted(context: ServerContext, gradingId: string): Promise<void> {
  const payload = await findPayload(context.database.sql, gradingId);
  if (payload) await unpackPayload(context, payload);
}

/** The bundle of a grading. Throws `grading.sealed` where it holds what would reveal hidden probes. */
export async function findBundle(
  context: ServerContext,
  gradingId: string,
): Promise<{ id: string; sha256: string; bytes: number }> {
  const found = uuidSchema.safeParse(gradingId).success
    ? await findEvidence(context.database.sql, gradingId.toLowerCase())
    : null;
  if (!found) throw noSuchGrading(gradingId);
  if (found.probes !== "open") {
    throw new InfraDevError("forbidden", {
      code: "grading.sealed",
      message: "this suite's probes are hidden, and its bundles hold what would reveal them",
      where: found.id,
      rule: "bundles of a suite with hidden probes are given out when its probes open",
      remedy: `verify the payload's files one by one: /api/v1/gradings/${found.id}/evidence`,
    });
  }
  return { id: found.id, sha256: found.bundleSha256, bytes: found.bundleBytes };
}

function noSuchGrading(id: string): InfraDevError {
  return new InfraDevError("not-found", {
    code: "grading.unknown",
    message: "there is no such grading",
    where: id.slice(0, 80),
    rule: "gradings are named by their UUID",
    remedy: "follow the link on the attempt's page",
  });
}
