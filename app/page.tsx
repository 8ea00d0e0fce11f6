import { notFound } from "next/navigation";
import { BoardPage } from "@/components/leaderboard/board-page";
import { defaultView } from "@/lib/prepare/board-view";
import { findBoard } from "./board/find-board";

export const ensureStatic = "navigation";

export default async function Page() {
  const found = await findBoard(defaultView);
  if (!found) notFound();
  return <BoardPage {...found} view={defaultView} />;
}
