import { Crumbs } from "@/components/ui/crumbs";

/** Head of a page of the documents: where it stands, its title and its one sentence. */
export function DocumentHead({ title, lead }: { title: string; lead: string }) {
  return (
    <div className="page-head">
      <Crumbs trail={[{ href: "/docs", label: "Docs" }]} here={title} />
      <h1>{title}</h1>
      <p className="lead">{lead}</p>
    </div>
  );
}
