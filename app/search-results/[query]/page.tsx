import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { SearchPage } from "@/components/search/search-page";
import { parseSearchPath, searchPath } from "@/lib/prepare/search";
import { search } from "@/lib/server/readers";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ query: string }>;
}

/** One query is answered at build time; any other when it is first asked, and kept in memory. */
export function generateStaticParams() {
  return [{ query: searchPath("router").split("/").at(-1) }];
}

const readQuery = async ({ params }: Props) => parseSearchPath((await params).query);

export async function generateMetadata(props: Props): Promise<Metadata> {
  const query = await readQuery(props);
  return { title: query ? `Search: ${query}` : "Search", robots: { index: false } };
}

export default async function Page(props: Props) {
  const query = await readQuery(props);
  if (!query) notFound();
  return <SearchPage found={await search(query)} />;
}
