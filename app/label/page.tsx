import type { Metadata, Route } from "next";
import { notFound, redirect } from "next/navigation";
import { LabelPage, NoRole } from "@/components/labels/label-page";
import { labelHref, parseLabelView } from "@/lib/prepare/label-view";
import { currentPerson } from "@/lib/server/accounts/session";
import { findLabelPage } from "@/lib/server/label-page";

/** Made for each request: it depends on its cookies. */
export const instant = false;

export const metadata: Metadata = { title: "Label failures", robots: { index: false } };

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function Page({ searchParams }: Props) {
  const query = new URLSearchParams(
    Object.entries(await searchParams).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
  const view = parseLabelView(query);
  const person = await currentPerson();
  if (!person) redirect(`/account/sign-in?${new URLSearchParams({ next: labelHref(view) })}` as Route);
  if (!person.role) return <NoRole person={person} />;
  const found = await findLabelPage(person, view);
  if (!found) notFound();
  return <LabelPage {...found} view={view} person={person} problem={query.get("problem")} />;
}
