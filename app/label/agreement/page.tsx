import type { Metadata } from "next";
import { AgreementPage } from "@/components/labels/agreement-page";
import { getLabelAgreement } from "@/lib/server/readers";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "Agreement of labels",
  description: "How far people who label failures agree with each other and with the rules: Cohen's kappa with n.",
};

export default async function Page() {
  return <AgreementPage agreement={await getLabelAgreement()} />;
}
