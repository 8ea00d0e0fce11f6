import type { LogPage } from "@/lib/contract/log-lines";
import type { LogView } from "@/lib/prepare/log-view";
import { getLogPage } from "@/lib/server/readers";

/** The page of a log that a view asks for; null where there is no such log or line. */
export async function findLogPage(view: LogView | null): Promise<{ page: LogPage; view: LogView } | null> {
  const page = view && (await getLogPage(view.gradingId, view.path, view.from));
  return view && page && { page, view };
}
