import "server-only";
import { cacheLife, cacheTag } from "next/cache";
import { findComparedRuns, findRanEntry, listBoardFacts } from "@/db/queries/compare";
import { listSuites as querySuites } from "@/db/queries/suites";
import { type CompareAnswer, compareAnswerSchema, type RanEntry } from "@/lib/contract/compare-api";
import { prepareCompare } from "@/lib/prepare/compare";
import type { CompareView } from "@/lib/prepare/compare-view";
import { getDatabase } from "../context";
import { cacheTags } from "../tags";

type SuiteVersion = { slug: string; version: string; title: string };

/** What a comparison's address names and nothing here is called. */
type Unknown = { unknown: "entry" | "suite"; name: string };

export const isUnknown = (found: CompareAnswer | Unknown): found is Unknown => "unknown" in found;

/**
 * Two entries against each other on the suite version asked for, else on the first that both ran; pairs worth a look
 * where an entry is still to choose.
 */
export function getComparison({ suite, version, a, b }: CompareView): Promise<CompareAnswer | Unknown> {
  return cachedComparison(suite, version, a, b);
}

const isSame = (one: SuiteVersion) => (other: SuiteVersion) => one.slug === other.slug && one.version === other.version;

async function cachedComparison(
  suite: string | null,
  version: string | null,
  a: string | null,
  b: string | null,
): Promise<CompareAnswer | Unknown> {
  "use cache";
  cacheTag(cacheTags.everything, cacheTags.suites, cacheTags.labels);
  cacheLife("hours");
  const { db } = getDatabase();
  const known = await querySuites(db);
  // An entry that is not here yet may arrive on any suite.
  cacheTag(...new Set(known.map(({ slug }) => cacheTags.board(slug))));
  const asked = known.filter((one) => (!suite || one.slug === suite) && (!version || one.version === version));
  if (!asked[0]) return { unknown: "suite", name: [suite, version].filter(Boolean).join(" ") };
  const [ranA, ranB] = await Promise.all([a ? findRanEntry(db, a) : null, b ? findRanEntry(db, b) : null]);
  if (a && !ranA) return { unknown: "entry", name: a };
  if (b && !ranB) return { unknown: "entry", name: b };
  const has = (ran: RanEntry | null, one: SuiteVersion) => ran === null || ran.suites.some(isSame(one));
  const shared = asked.find((one) => has(ranA, one) && has(ranB, one));
  const chosen = shared ?? asked.find((one) => has(ranA, one)) ?? asked[0];
  const boards = await listBoardFacts(db, { suite: chosen.slug, version: chosen.version });
  if (!boards) return { unknown: "suite", name: `${chosen.slug} ${chosen.version}` };
  const ids = boards.flatMap(({ rows }) =>
    rows.filter(({ entry }) => entry.slug === a || entry.slug === b).map(({ submissionId }) => submissionId),
  );
  const prepared = prepareCompare({ boards, ...(await findComparedRuns(db, ids)) }, { a, b });
  const apart = !shared && ranA && ranB ? { a: ranA, b: ranB } : null;
  return compareAnswerSchema.parse({ ...prepared, state: apart ? "apart" : prepared.state, ran: apart });
}
