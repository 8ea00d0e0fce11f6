import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { BoardPage } from "@/components/leaderboard/board-page";
import { prepareBoardPage } from "@/lib/prepare/board-page";
import { defaultView } from "@/lib/prepare/board-view";
import { findBoard } from "./board/find-board";
import { boardShare } from "./og/share-metadata";

export const ensureStatic = "navigation";

export async function generateMetadata(): Promise<Metadata> {
  const found = await findBoard(defaultView);
  return found ? boardShare(found.board) : {};
}

export default async function Page() {
  const found = await findBoard(defaultView);
  const model = found && prepareBoardPage(found.board, defaultView);
  if (!found || !model) notFound();
  return <BoardPage {...found} view={defaultView} model={model} />;
}
