import type { BoardRow } from "@/lib/contract/api";
import type { PooledRejection, ProbedRow, ProbedTask, ProbesAnswer } from "@/lib/contract/probes-api";
import type { ProbesFacts } from "@/lib/contract/probes-facts";
import { properties } from "@/lib/contract/vocabulary";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { wilsonInterval } from "@/lib/stats/intervals";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";

interface Counts {
  officialResolved: number;
  rejected: number;
}

const inPct = ([low, high]: [number, number]): [number, number] => [100 * low, 100 * high];

function rejectedShare({ officialResolved, rejected }: Counts): Counts & Pick<PooledRejection, "pct" | "interval"> {
  const known = officialResolved > 0;
  return {
    officialResolved,
    rejected,
    pct: known ? (100 * rejected) / officialResolved : null,
    interval: known ? inPct(wilsonInterval(rejected, officialResolved)) : null,
  };
}

const summed = (counts: readonly Counts[]): Counts => ({
  officialResolved: counts.reduce((sum, one) => sum + one.officialResolved, 0),
  rejected: counts.reduce((sum, one) => sum + one.rejected, 0),
});

type CountOf = (submissionId: string, task: string) => Counts | undefined;

const shareRejected = (sample: readonly Counts[]): number => {
  const { officialResolved, rejected } = summed(sample);
  return rejected / officialResolved;
};

/** Rejection over tasks, its interval by resampling them: attempts at one task are no independent draws. */
function rejectedOverTasks(byTask: readonly Counts[]) {
  const interval = bootstrapInterval(byTask, shareRejected, seededRandom(boardSeed));
  return { ...rejectedShare(summed(byTask)), interval: interval && inPct(interval) };
}

function probedRow(row: BoardRow, tasks: readonly string[], countOf: CountOf): ProbedRow {
  const byTask = tasks.flatMap((task) => countOf(row.submissionId, task) ?? []);
  const repeated = byTask.some(({ officialResolved }) => officialResolved > 1);
  const { entry, submissionId, tier, provisional, rankSet, officialRankSet, resolved, officialResolved } = row;
  return {
    ...{ entry, submissionId, tier, provisional, rankSet, officialRankSet, resolved, officialResolved },
    rejected: row.probeRejected && (repeated ? rejectedOverTasks(byTask) : rejectedShare(row.probeRejected)),
  };
}

function pool(rows: readonly BoardRow[], tasks: readonly string[], countOf: CountOf): PooledRejection {
  const graded = rows.filter((row) => row.tasks);
  const byTask = tasks.map((task) => summed(graded.flatMap((row) => countOf(row.submissionId, task) ?? [])));
  return { ...rejectedOverTasks(byTask), rows: graded.length };
}

/** Reference sets of wrong changes are named so. */
const isMutant = ({ entry }: BoardRow) => /\bmutant-\d+$/.test(entry.model);

/** What the probes of a board reject that its official tests let pass: by entry, pooled, by property and by task. */
export function prepareProbes({ board, counts, rejections, probes }: ProbesFacts): Omit<ProbesAnswer, "published"> {
  const { tasks, ...suite } = board.suite;
  const references = board.references.toSorted((a, b) =>
    a.entry.model.localeCompare(b.entry.model, "en", { numeric: true }),
  );
  const ranked = board.rows.filter(({ provisional }) => !provisional);
  const rankedIds = new Set(ranked.map(({ submissionId }) => submissionId));
  const referenceIds = new Set(references.map(({ submissionId }) => submissionId));
  const byKey = new Map(counts.map((one) => [`${one.submissionId} ${one.task}`, one]));
  const countOf: CountOf = (submissionId, task) => byKey.get(`${submissionId} ${task}`);
  const slugs = tasks.map(({ slug }) => slug);

  const propertiesOf = new Map<string, Set<string>>();
  for (const { attemptId, property } of rejections)
    propertiesOf.set(attemptId, (propertiesOf.get(attemptId) ?? new Set()).add(property));
  const countProperty = (property: string, ids: ReadonlySet<string>) => {
    const found = rejections.filter((one) => one.property === property && ids.has(one.submissionId));
    return {
      attempts: found.length,
      alone: found.filter(({ attemptId }) => propertiesOf.get(attemptId)?.size === 1).length,
    };
  };
  const shown = [...ranked, ...references];
  const byTask = tasks.map(({ slug, title, category }): ProbedTask => {
    const share = (rows: readonly BoardRow[]) =>
      rejectedShare(summed(rows.flatMap(({ submissionId }) => countOf(submissionId, slug) ?? [])));
    const here = rejections.filter(
      ({ task, submissionId }) => task === slug && (rankedIds.has(submissionId) || referenceIds.has(submissionId)),
    );
    return {
      task: slug,
      title,
      category,
      ranked: share(ranked),
      references: share(references),
      properties: properties
        .map((property) => ({ property, attempts: here.filter((one) => one.property === property).length }))
        .filter(({ attempts }) => attempts > 0)
        .sort((a, b) => b.attempts - a.attempts),
      rejected: shown
        .filter(({ submissionId }) => (countOf(submissionId, slug)?.rejected ?? 0) > 0)
        .map(({ submissionId, entry }) => ({ submissionId, model: entry.model, kind: entry.kind })),
    };
  });
  return {
    suite,
    promptCondition: board.promptCondition,
    skill: board.skill,
    rows: board.rows.map((row) => probedRow(row, slugs, countOf)),
    references: references.map((row) => probedRow(row, slugs, countOf)),
    pooled: pool(ranked, slugs, countOf),
    mutants: pool(references.filter(isMutant), slugs, countOf),
    properties: properties.flatMap((property) => {
      const required = probes.find((one) => one.property === property);
      return required
        ? [
            {
              ...required,
              ranked: countProperty(property, rankedIds),
              references: countProperty(property, referenceIds),
            },
          ]
        : [];
    }),
    tasks: byTask,
  };
}
