import type { Metadata } from "next";
import { SearchPage } from "@/components/search/search-page";

export const ensureStatic = "navigation";

export const metadata: Metadata = { title: "Search", robots: { index: false } };

export default function Page() {
  return <SearchPage found={null} />;
}
