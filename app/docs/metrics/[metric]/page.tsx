import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { Crumbs } from "@/components/ui/crumbs";
import { metrics } from "@/lib/prepare/metrics";

export const ensureStatic = "navigation";

interface Props {
  params: Promise<{ metric: string }>;
}

export function generateStaticParams() {
  return metrics.map(({ key }) => ({ metric: key }));
}

const findMetric = async ({ params }: Props) => {
  const { metric } = await params;
  return metrics.find(({ key }) => key === metric);
};

export async function generateMetadata(props: Props): Promise<Metadata> {
  const metric = await findMetric(props);
  return metric ? { title: metric.title, description: metric.meaning } : {};
}

export default async function Page(props: Props) {
  const metric = await findMetric(props);
  if (!metric) notFound();
  const { title, meaning, definition, formula, interval, computedIn, notSaid } = metric;
  return (
    <div className="prose">
      <div className="page-head">
        <Crumbs
          trail={[
            { href: "/docs", label: "Docs" },
            { href: "/docs/metrics", label: "Metrics" },
          ]}
          here={title}
        />
        <h1>{title}</h1>
        <p className="lead">{meaning}</p>
      </div>
      <h2>Definition</h2>
      <p>{definition}</p>
      <p className="formula">{formula}</p>
      <h2>Interval</h2>
      <p>{interval}</p>
      <h2>What it does not say</h2>
      <ul>
        {notSaid.map((conclusion) => (
          <li key={conclusion}>{conclusion}</li>
        ))}
      </ul>
      <h2>Where it is computed</h2>
      <ul>
        {computedIn.map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </ul>
      <p className="aside">
        Constants and sources: <a href="/docs/methodology#constants">Methodology</a>.
      </p>
    </div>
  );
}
