import "server-only";
import type { z } from "zod";
import { bundleLimits } from "@/lib/contract/bundle";
import { InfraDevError } from "@/lib/contract/errors";
import type { bundleAnnounceSchema } from "@/lib/contract/job";
import type { ServerContext } from "../context";
import type { UploadAnnouncement, UploadProgress } from "../upload-store";

/** Opens or finds the upload of a bundle under a name of the caller's choice. Bytes that are here already are complete at once. */
export async function announceBundle(
  context: ServerContext,
  id: string,
  announcement: z.infer<typeof bundleAnnounceSchema>,
): Promise<UploadProgress> {
  if (announcement.bytes > bundleLimits.packedBytes) {
    throw new InfraDevError("too-large", {
      code: "upload.too-large",
      message: `the bundle has ${announcement.bytes} bytes`,
      where: "body#bytes",
      rule: `a bundle has at most ${bundleLimits.packedBytes} bytes`,
      remedy: "bound the logs and resource samples of the grading more tightly",
    });
  }
  const whole = { offset: announcement.bytes, complete: true };
  if (await isStored(context, announcement)) return whole;
  const progress = await context.uploads.announce(id, announcement);
  if (progress.complete) return storeBundle(context, id, announcement);
  // Another request may have moved the whole upload into the store since the first look.
  if (!(await isStored(context, announcement))) return progress;
  await context.uploads.discard(id);
  return whole;
}

const isStored = async (context: ServerContext, { sha256, bytes }: UploadAnnouncement): Promise<boolean> =>
  (await context.blobs.stat(sha256))?.bytes === bytes;

/** Appends what a request carries; the last byte moves the bundle into the blob store. */
export async function appendBundle(
  context: ServerContext,
  id: string,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): Promise<UploadProgress> {
  const progress = await context.uploads.append(id, offset, body);
  const announcement = await context.uploads.find(id);
  return progress.complete && announcement ? storeBundle(context, id, announcement) : progress;
}

const storing = new Map<string, Promise<UploadProgress>>();

/** Moves a complete upload into the blob store. Requests that come meanwhile wait for the same end. */
function storeBundle(context: ServerContext, id: string, announcement: UploadAnnouncement): Promise<UploadProgress> {
  const key = `${context.dataDir} ${id} ${announcement.sha256}`;
  const already = storing.get(key);
  if (already !== undefined) return already;
  const work = moveBundle(context, id, announcement).finally(() => storing.delete(key));
  storing.set(key, work);
  return work;
}

async function moveBundle(
  context: ServerContext,
  id: string,
  announcement: UploadAnnouncement,
): Promise<UploadProgress> {
  if (!(await isStored(context, announcement))) {
    const path = await context.uploads.seal(id);
    await context.blobs.adopt(path, announcement.sha256);
  }
  await context.uploads.discard(id);
  return { offset: announcement.bytes, complete: true };
}
