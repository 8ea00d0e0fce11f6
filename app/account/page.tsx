import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { AccountPage } from "@/components/accounts/account-page";
import { currentPerson } from "@/lib/server/accounts/session";

/** Made for each request: it depends on its cookies. */
export const instant = false;

export const metadata: Metadata = { title: "Account", robots: { index: false } };

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function Page({ searchParams }: Props) {
  const { error, done } = await searchParams;
  const person = await currentPerson();
  if (!person) redirect("/account/sign-in?next=/account");
  return <AccountPage person={person} error={String(error ?? "")} done={String(done ?? "")} />;
}
