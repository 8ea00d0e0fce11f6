import "server-only";
import type { Change } from "@/db/queries/changes";
import { formatPctUnit, plural } from "@/lib/format/numbers";
import { xmlText } from "@/lib/format/xml";

const titles: Record<Change["kind"], string> = {
  published: "published",
  graded: "graded",
  regrade: "queued to be graded again",
  invalidation: "a grading was invalidated",
};

function summaryOf(change: Change): string {
  const { kind, count, reason, resolvedPct, taskCount } = change;
  const stands =
    resolvedPct === null || taskCount === null
      ? ""
      : ` Now ${formatPctUnit(resolvedPct)} of ${taskCount} ${plural(taskCount, "task")} resolved.`;
  if (kind === "graded") return `${count} ${plural(count, "grading")} recorded in the log.${stands}`;
  if (kind === "published") return `A new row.${stands}`;
  return `Reason: ${reason ?? "not stated"}.${stands}`;
}

/**
 * The feed of new and changed results as Atom (RFC 4287): publications, gradings, regrades and invalidations, the newest
 * first. Ids keep their spelling under `serverName`, whatever address the `site` is read at.
 */
export function atomFeed(
  changes: readonly Change[],
  { serverName, site }: { serverName: string; site: string },
): string {
  const tag = (name: string) => xmlText(`tag:${serverName.split("/")[0]},2026:${name}`);
  const entries = changes.map((change) => {
    const name =
      change.position === null ? `submission/${change.submissionId}/${change.kind}` : `log/${change.position}`;
    const what = [change.model, change.agent && `with ${change.agent}`].filter(Boolean).join(" ");
    return `  <entry>
    <id>${tag(name)}</id>
    <title>${xmlText(`${what} on ${change.suiteTitle} ${change.suiteVersion}: ${titles[change.kind]}`)}</title>
    <updated>${change.at}</updated>
    <link rel="alternate" href="${xmlText(`${site}/submissions/${change.submissionId}`)}"/>
    <category term="${change.kind}"/>
    <summary>${xmlText(summaryOf(change))}</summary>
  </entry>
`;
  });
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${tag("feed")}</id>
  <title>InfraDev: new and changed results</title>
  <updated>${changes[0]?.at ?? "2026-01-01T00:00:00.000Z"}</updated>
  <author><name>${xmlText(serverName)}</name></author>
  <link rel="self" type="application/atom+xml" href="${xmlText(`${site}/feed.xml`)}"/>
  <link rel="alternate" type="text/html" href="${xmlText(`${site}/`)}"/>
${entries.join("")}</feed>
`;
}
