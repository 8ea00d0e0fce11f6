import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { boardShare } from "@/app/og/share-metadata";
import { BoardPage } from "@/components/leaderboard/board-page";
import { prepareBoardPage } from "@/lib/prepare/board-page";
import { canonicalHref, defaultView, parseViewPath, viewPath } from "@/lib/prepare/board-view";
import { findBoard } from "../find-board";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ view: string[] }>;
}

/** One view is made at build time; any other is made when it is first asked for, and kept. */
export function generateStaticParams() {
  return [
    {
      view: viewPath({ ...defaultView, direction: "asc" })
        .split("/")
        .slice(2),
    },
  ];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const view = parseViewPath((await params).view);
  const found = view && (await findBoard(view));
  if (!view || !found) return {};
  const canonical = canonicalHref(view);
  return { ...boardShare(found.board), alternates: { canonical } };
}

export default async function Page({ params }: Props) {
  const view = parseViewPath((await params).view);
  const found = view && (await findBoard(view));
  const model = found && prepareBoardPage(found.board, view);
  if (!view || !found || !model) notFound();
  return <BoardPage {...found} view={view} model={model} />;
}
