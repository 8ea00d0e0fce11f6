import type { Metadata, Route } from "next";
import { redirect } from "next/navigation";
import { DisagreementsPage } from "@/components/labels/disagreements-page";
import { NoRole } from "@/components/labels/label-page";
import { currentPerson } from "@/lib/server/accounts/session";
import { findDisagreements } from "@/lib/server/label-page";

/** Made for each request: it depends on its cookies. */
export const instant = false;

export const metadata: Metadata = { title: "Disagreements", robots: { index: false } };

export default async function Page() {
  const person = await currentPerson();
  if (!person) redirect("/account/sign-in?next=/label/disagreements" as Route);
  if (!person.role) return <NoRole person={person} />;
  return <DisagreementsPage {...(await findDisagreements(person))} person={person} />;
}
