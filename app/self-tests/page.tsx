import type { Metadata } from "next";
import { SelfTestsPage } from "@/components/self-tests/self-tests-page";
import { getSelfTests } from "@/lib/server/readers";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "What agents test themselves",
  description:
    "Which properties the tests check that agents add to their patches: value, shape, state, memory, speed, traffic.",
  alternates: { canonical: "/self-tests" },
};

export default async function Page() {
  return <SelfTestsPage answer={await getSelfTests()} />;
}
