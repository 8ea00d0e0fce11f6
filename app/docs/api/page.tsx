import type { Metadata } from "next";
import { ApiReference } from "@/components/docs/api-reference";
import { openApiDocument } from "@/lib/contract/openapi";
import { version } from "@/package.json";

export const ensureStatic = "navigation";

export const metadata: Metadata = {
  title: "API",
  description: "Every page as JSON, and the board as CSV, Markdown and BibTeX.",
};

export default function Page() {
  return <ApiReference document={openApiDocument(version)} />;
}
