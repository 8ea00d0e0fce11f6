import type { EntryDetail, EntryStanding } from "@/lib/contract/entry-api";
import { standingSentence } from "./entry-finding";

/** Address of an entry's page. */
export const entryHref = (slug: string) => `/entries/${slug}`;

/** An entry as a schema.org Dataset. Addresses are relative to the page. */
export function entryDataset(entry: EntryDetail): object {
  const { candidate, standings, slug } = entry;
  const newest = standings
    .flatMap(({ submissions }) => submissions.map(({ publishedAt }) => publishedAt))
    .sort((a, b) => (a < b ? -1 : 1))
    .at(-1);
  const source = standings.find(({ published }) => published)?.published;
  return {
    "@context": "https://schema.org",
    "@type": "Dataset",
    name: `${candidate.model}: results`,
    description: standings.map(standingSentence).join(" "),
    url: entryHref(slug),
    isAccessibleForFree: true,
    distribution: [
      { "@type": "DataDownload", encodingFormat: "application/json", contentUrl: `/api/v1/entries/${slug}` },
      { "@type": "DataDownload", encodingFormat: "text/csv", contentUrl: `/api/v1/entries/${slug}/tasks.csv` },
    ],
    ...(newest ? { dateModified: newest } : {}),
    ...(source ? { citation: { "@type": "ScholarlyArticle", name: source.title, url: source.url } } : {}),
  };
}

/** Address of the board that a standing is a row of. */
export function standingHref({ candidate }: EntryDetail, { suite }: EntryStanding): string {
  const query = new URLSearchParams({ suite: suite.slug, version: suite.version });
  if (candidate.promptCondition !== "interface") query.set("condition", candidate.promptCondition);
  if (candidate.skill) query.set("skill", candidate.skill.name);
  return `/?${query}`;
}
