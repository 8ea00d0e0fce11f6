import type { Metadata } from "next";
import { Crumbs } from "@/components/ui/crumbs";
import { metrics } from "@/lib/prepare/metrics";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Metrics",
  description: "Every figure of the tables: what it is, and a page for each with its formula and limits.",
};

export default function Page() {
  return (
    <div className="prose">
      <div className="page-head">
        <Crumbs trail={[{ href: "/docs", label: "Docs" }]} here="Metrics" />
        <h1>Metrics</h1>
        <p className="lead">
          Every figure of the tables, each with a page: formula, interval, and what it does not say.
        </p>
      </div>
      <dl className="documents">
        {metrics.map(({ key, title, meaning }) => (
          <div key={key}>
            <dt>
              <a href={`/docs/metrics/${key}`}>{title}</a>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
