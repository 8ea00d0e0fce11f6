import type { Metadata } from "next";
import { documentPages } from "@/lib/prepare/documents";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Documents",
  description: "What is measured, how to check it, and how to use it on tasks of your own.",
};

const groups = [...new Set(documentPages.map(({ group }) => group))];

export default function Page() {
  return (
    <div className="prose">
      <div className="page-head">
        <h1>Documents</h1>
        <p className="lead">What is measured, how to check it, and how to use it on tasks of your own.</p>
      </div>
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          <dl className="documents">
            {documentPages
              .filter((page) => page.group === group)
              .map(({ href, title, summary }) => (
                <div key={href}>
                  <dt>
                    <a href={href}>{title}</a>
                  </dt>
                  <dd>{summary}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </div>
  );
}
