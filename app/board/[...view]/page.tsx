import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { BoardPage } from "@/components/leaderboard/board-page";
import { defaultView, parseViewPath, viewHref, viewPath } from "@/lib/prepare/board-view";
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
  return view ? { alternates: { canonical: viewHref({ ...view, sort: "resolved", direction: "desc" }) } } : {};
}

export default async function Page({ params }: Props) {
  const view = parseViewPath((await params).view);
  const found = view && (await findBoard(view));
  if (!view || !found) notFound();
  return <BoardPage {...found} view={view} />;
}
