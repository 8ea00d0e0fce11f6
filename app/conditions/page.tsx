import type { Metadata } from "next";
import { ConditionsPage } from "@/components/conditions/conditions-page";
import { getConditions } from "@/lib/server/readers";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Prompt conditions and skills",
  description: "The same model and agent under two prompts, and with a skill against without it, task by task.",
  alternates: { canonical: "/conditions" },
};

export default async function Page() {
  return <ConditionsPage conditions={await getConditions()} />;
}
