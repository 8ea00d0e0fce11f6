import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { OwnFigures } from "@/components/results/own-figures";
import { PublishedTable } from "@/components/results/published-table";
import { Crumbs } from "@/components/ui/crumbs";
import { formatDate } from "@/lib/format/times";
import { publishedTableNumber } from "@/lib/prepare/published";
import { ownFigures } from "@/lib/prepare/published-ours";
import { getBoard, getTaskList, listPublished, listSuites } from "@/lib/server/readers";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ table: string }>;
}

export async function generateStaticParams() {
  const keys = (await listPublished()).flatMap(({ tables }) => tables.map(({ key }) => ({ table: key })));
  return keys.length > 0 ? keys : [{ table: "none" }];
}

const find = async ({ params }: Props) => {
  const { table: key } = await params;
  const publications = await listPublished();
  return publications.flatMap(({ source, tables }) =>
    tables.filter((table) => table.key === key).map((table) => ({ source, tables, table })),
  )[0];
};

export async function generateMetadata(props: Props): Promise<Metadata> {
  const found = await find(props);
  if (!found) return {};
  const { table, source } = found;
  return {
    title: `${publishedTableNumber(table.key)}. ${table.title}`,
    description: `As printed in ${source.title}, beside what our own gradings give of the same kind.`,
  };
}

/** Boards and tasks of the newest version of each suite that is graded here. */
async function readOwn() {
  const suites = await listSuites();
  const own = suites.filter(
    ({ slug, reported }, index) => !reported && suites.findIndex((suite) => suite.slug === slug) === index,
  );
  const [boards, lists] = await Promise.all([
    Promise.all(own.map(({ slug, version }) => getBoard({ suite: slug, version }))),
    Promise.all(own.map(({ slug, version }) => getTaskList(slug, version))),
  ]);
  return { boards: boards.flatMap((board) => board ?? []), lists: lists.flatMap((list) => list ?? []) };
}

export default async function Page(props: Props) {
  const found = await find(props);
  if (!found) notFound();
  const { table, tables, source } = found;
  const { boards, lists } = await readOwn();
  const names = new Map(tables.flatMap(({ rows }) => rows.map(({ key, label }) => [key, label] as const)));
  return (
    <>
      <div className="page-head">
        <Crumbs trail={[{ href: "/published", label: "Published" }]} here={publishedTableNumber(table.key)} />
        <h1>
          {publishedTableNumber(table.key)}. {table.title}
        </h1>
      </div>
      <p className="published-mark">As published, not graded here</p>
      <p className="source">
        <a href={source.url}>{source.title}</a>, {formatDate(source.published)}. {source.extent}
      </p>
      <PublishedTable table={table} names={names} alone />
      <OwnFigures figures={ownFigures(table.key, boards, lists)} />
    </>
  );
}
