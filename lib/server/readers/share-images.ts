import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { boardCard, entryCard, rowCard, type ShareCard, taskCard } from "@/lib/prepare/share-card";
import { drawShareImage } from "../share-image/draw";
import { cacheTags } from "../tags";
import { type BoardRequest, getBoard } from "./board";
import { getEntry } from "./entries";
import { getSubmission } from "./submissions";
import { getTask } from "./tasks";

/** A card as a PNG; equal cards are drawn once. */
export async function drawCard(card: ShareCard): Promise<Uint8Array<ArrayBuffer>> {
  "use cache";
  cacheTag(cacheTags.everything);
  cacheLife("hours");
  return drawShareImage(card);
}

/** The share image of a board; null where there is none. */
export async function getBoardImage(request: BoardRequest): Promise<Uint8Array<ArrayBuffer> | null> {
  const board = await getBoard(request);
  return board && drawCard(boardCard(board));
}

/** The share image of a submission; null where there is none. */
export async function getSubmissionImage(id: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const submission = await getSubmission(id);
  return submission && drawCard(rowCard(submission));
}

/** The share image of an entry; null where there is none, or nothing of it is graded. */
export async function getEntryImage(slug: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const entry = await getEntry(slug);
  const card = entry && entryCard(entry);
  return card && drawCard(card);
}

/** The share image of a task; null where there is none. */
export async function getTaskImage(
  suite: string,
  version: string,
  task: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const detail = await getTask(suite, version, task);
  return detail && drawCard(taskCard(detail));
}
