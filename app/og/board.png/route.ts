import { connection } from "next/server";
import { readBoard } from "@/app/board/read-board";
import { respond } from "@/lib/server/http";
import { getBoardImage } from "@/lib/server/readers";
import { sendImage } from "../send-image";

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const { board } = await readBoard(request);
    const { suite, promptCondition, skill } = board;
    const image = await getBoardImage({ suite: suite.slug, version: suite.version, promptCondition, skill });
    return sendImage(request, image, `${suite.slug} ${suite.version}`);
  });
}
