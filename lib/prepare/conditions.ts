import type { BoardFacts, BoardRowFacts } from "@/lib/contract/board-facts";
import type { ComparisonFacts } from "@/lib/contract/compare-facts";
import type {
  ConditionDifference,
  ConditionPair,
  ConditionSide,
  ConditionsAnswer,
} from "@/lib/contract/conditions-api";
import { bootstrapInterval } from "@/lib/stats/bootstrap";
import { holmAdjust } from "@/lib/stats/holm";
import { seededRandom } from "@/lib/stats/random";
import { boardSeed } from "./board";
import { prepareCompare } from "./compare";

/** A row with the board that it stands on. */
interface Standing {
  board: BoardFacts;
  row: BoardRowFacts;
}

interface Candidates {
  differs: ConditionDifference;
  base: Standing;
  changed: Standing;
}

/** Digests of skills by the entries that have one: two skills of one name are two skills. */
export type SkillDigests = ReadonlyMap<string, string>;

/** A configuration but for prompt and skill; equal texts are equal configurations. */
function configurationKey({ entry }: BoardRowFacts): string {
  const { model, agent, agentVersion, reasoningEffort, networkPolicy, budget } = entry;
  const limits = budget ?? null;
  return JSON.stringify([
    model,
    agent,
    agentVersion,
    reasoningEffort,
    networkPolicy,
    limits && [limits.timeMin, limits.costUsd, limits.tokensM, limits.steps],
  ]);
}

/** Every pair of graded models' rows that differ in prompt alone or in having a skill alone. */
function findPairs(boards: readonly BoardFacts[], digests: SkillDigests): Candidates[] {
  const groups = new Map<string, Standing[]>();
  for (const board of boards) {
    for (const row of board.rows) {
      if (row.entry.kind !== "model" || row.evidence.kind !== "graded") continue;
      const key = configurationKey(row);
      groups.set(key, [...(groups.get(key) ?? []), { board, row }]);
    }
  }
  const skillOf = ({ board, row }: Standing) =>
    board.skill === null ? null : `${board.skill} ${digests.get(row.entry.slug) ?? ""}`;
  return [...groups.values()].flatMap((standings) =>
    standings.flatMap((base) =>
      standings.flatMap((changed): Candidates[] => {
        const samePrompt = base.board.promptCondition === changed.board.promptCondition;
        if (samePrompt && skillOf(base) === null && skillOf(changed) !== null) {
          return [{ differs: "skill", base, changed }];
        }
        const isPrompt = base.board.promptCondition === "interface" && !samePrompt;
        return isPrompt && skillOf(base) === skillOf(changed) ? [{ differs: "prompt", base, changed }] : [];
      }),
    ),
  );
}

/** Whether gradings of a row are still out, or a host's fault awaits its rerun. */
const isProvisional = ({ row }: Standing) =>
  row.provisional === true ||
  (row.evidence.kind === "graded" && row.evidence.tasks.some(({ status }) => status === "infra"));

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function pointsOf(differences: readonly number[]): ConditionPair["resolved"] {
  const points = differences.map((difference) => 100 * difference);
  const interval = points.length > 1 ? bootstrapInterval(points, mean, seededRandom(boardSeed)) : null;
  return { points: points.length > 0 ? mean(points) : 0, interval };
}

function preparePair(
  { differs, base, changed }: Candidates,
  facts: Pick<ComparisonFacts, "runs" | "failures">,
): ConditionPair {
  const alone = ({ board, row }: Standing): BoardFacts => ({ ...board, rows: [row] });
  const { comparison } = prepareCompare(
    { ...facts, boards: [alone(base), alone(changed)] },
    { a: changed.row.entry.slug, b: base.row.entry.slug },
  );
  const { a, b, test, tasks, deltas } = comparison ?? {};
  if (!a || !b || !test?.counts || !tasks || !deltas) {
    throw new Error(`${changed.row.entry.slug} and ${base.row.entry.slug} are graded, so task by task comparable`);
  }
  const side = ({ row }: typeof a, { board }: Standing): ConditionSide => ({
    slug: row.entry.slug,
    submissionId: row.submissionId,
    tier: row.tier,
    promptCondition: board.promptCondition,
    skill: board.skill,
    resolved: row.resolved,
    officialResolved: row.officialResolved ?? row.resolved,
  });
  const { slug: _slug, kind: _kind, ...entry } = base.row.entry;
  const { onlyA, onlyB, ...counts } = test.counts;
  return {
    differs,
    entry,
    base: side(b, base),
    changed: side(a, changed),
    resolved: pointsOf(tasks.map((task) => task.a.score - task.b.score)),
    official: pointsOf(tasks.map((task) => task.a.officialScore - task.b.officialScore)),
    test: {
      method: test.method,
      counts: { ...counts, onlyBase: onlyB, onlyChanged: onlyA },
      p: test.p[1],
      pAdjusted: test.p[1],
    },
    tasks,
    deltas,
  };
}

/**
 * Compares prompt conditions and skills on one suite version: every pair of entries that differ in nothing else, task by
 * task, with Holm's adjustment over these pairs. Null where no two entries pair. Pure and deterministic.
 */
export function prepareConditions(
  facts: ComparisonFacts,
  digests: SkillDigests,
): ConditionsAnswer["suites"][number] | null {
  const [first] = facts.boards;
  const candidates = findPairs(facts.boards, digests);
  if (!first || candidates.length === 0) return null;
  const ready = candidates.filter(({ base, changed }) => !isProvisional(base) && !isProvisional(changed));
  const pairs = ready.map((pair) => preparePair(pair, facts));
  const adjusted = holmAdjust(pairs.map(({ test }) => test.p));
  const { slug, version, title, taskCount } = first.suite;
  return {
    suite: { slug, version, title, taskCount },
    pairs: pairs
      .map((pair, index) => ({ ...pair, test: { ...pair.test, pAdjusted: adjusted[index] ?? pair.test.p } }))
      .sort(
        (one, other) =>
          one.differs.localeCompare(other.differs, "en") ||
          one.entry.model.localeCompare(other.entry.model, "en", { numeric: true }) ||
          one.changed.slug.localeCompare(other.changed.slug, "en"),
      ),
    waiting: candidates.length - ready.length,
  };
}
