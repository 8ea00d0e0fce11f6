import { connection } from "next/server";
import { xmlText } from "@/lib/format/xml";
import { defaultView, viewHref } from "@/lib/prepare/board-view";
import { searchedDocuments } from "@/lib/prepare/documents";
import { publicText, respond } from "@/lib/server/http";
import { getBoard, listPublished, listSuites } from "@/lib/server/readers";
import { siteUrl } from "@/lib/server/site-url";

const documents = [
  "/tasks",
  "/failures",
  "/failures/clusters",
  "/self-tests",
  "/compare",
  "/probes",
  "/conditions",
  "/docs",
  ...searchedDocuments.map(({ href }) => href),
];

/** The sitemap protocol's bound. */
const mostAddresses = 50_000;

/** Every board that has a row, in its default view, and what its rows lead to. */
async function addresses(): Promise<string[]> {
  const suites = await listSuites();
  const choices = suites.flatMap(({ slug, version, boards }) => boards.map((board) => ({ slug, version, ...board })));
  const found = await Promise.all(
    choices.map(async ({ slug, version, promptCondition, skill }) => {
      const board = await getBoard({ suite: slug, version, promptCondition, skill });
      const isNewest = suites.find((suite) => suite.slug === slug)?.version === version;
      const address = viewHref({
        ...defaultView,
        suite: slug === suites[0]?.slug ? null : slug,
        version: isNewest ? null : version,
        condition: promptCondition,
        skill,
      });
      const rows = board ? [...board.rows, ...board.references] : [];
      return [
        address,
        ...(board?.suite.tasks ?? []).map((task) => `/tasks/${slug}/${version}/${task.slug}`),
        ...rows.flatMap(({ entry, submissionId, tasks }) => [
          `/entries/${entry.slug}`,
          `/submissions/${submissionId}`,
          ...(tasks ?? [])
            .filter(({ verdict }) => verdict !== "missing")
            .map(({ task }) => `/submissions/${submissionId}/${task}`),
        ]),
      ];
    }),
  );
  const printed = (await listPublished()).flatMap(({ tables }) => tables.map(({ key }) => `/published/${key}`));
  return [...new Set(["/", "/label/agreement", ...documents, ...printed, ...found.flat()])].slice(0, mostAddresses);
}

export async function GET(request: Request): Promise<Response> {
  await connection();
  return respond(async () => {
    const site = siteUrl(request);
    const lines = (await addresses()).map((address) => `<url><loc>${xmlText(`${site}${address}`)}</loc></url>\n`);
    return publicText(
      request,
      `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${lines.join("")}</urlset>\n`,
      "application/xml; charset=utf-8",
    );
  });
}
