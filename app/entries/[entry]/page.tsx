import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { entryShare } from "@/app/og/share-metadata";
import { EntryPage } from "@/components/entries/entry-page";
import { standingSentence } from "@/lib/prepare/entry-finding";
import { entryHref } from "@/lib/prepare/entry-twins";
import { getEntry, listEntries } from "@/lib/server/readers";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ entry: string }>;
}

/** Some are made at build time, every other when it is first asked for. Where there is none, one that does not exist. */
export async function generateStaticParams() {
  const { entries } = await listEntries();
  const known = entries.slice(0, 50).map(({ entry }) => ({ entry: entry.slug }));
  return known.length > 0 ? known : [{ entry: "none" }];
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const entry = await getEntry((await params).entry);
  if (!entry) return {};
  const [first] = entry.standings;
  return {
    title: entry.candidate.model,
    ...entryShare(entry),
    ...(first ? { description: standingSentence(first) } : {}),
    alternates: { canonical: entryHref(entry.slug) },
  };
}

export default async function Page({ params }: Props) {
  const entry = await getEntry((await params).entry);
  if (!entry) notFound();
  return <EntryPage entry={entry} />;
}
