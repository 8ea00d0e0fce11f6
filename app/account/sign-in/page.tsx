import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { SignInPage } from "@/components/accounts/sign-in-page";
import { ownPath } from "@/lib/server/accounts/forms";
import { currentPerson } from "@/lib/server/accounts/session";

/** Made for each request: it depends on its cookies. */
export const instant = false;

export const metadata: Metadata = { title: "Sign in", robots: { index: false } };

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function Page({ searchParams }: Props) {
  const { error, done, next } = await searchParams;
  const target = ownPath(typeof next === "string" ? next : undefined, "/label");
  if (await currentPerson()) redirect("/account");
  return <SignInPage next={target} error={String(error ?? "")} done={String(done ?? "")} />;
}
