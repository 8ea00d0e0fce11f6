import type { BoardFacts, BoardRowFacts, TaskFacts } from "@/lib/contract/board-facts";
import type { Category } from "@/lib/contract/vocabulary";

/** Category counts of the published suite. */
export const publishedCounts = { training: 19, inference: 10, rl: 7 } as const;

/** A synthetic suite with `counts` tasks per category. */
export function syntheticSuite(counts: Record<Category, number>): BoardFacts["suite"] {
  const tasks = (Object.entries(counts) as [Category, number][]).flatMap(([category, count]) =>
    Array.from({ length: count }, (_, index) => ({
      slug: `${category}-${index + 1}`,
      title: `Synthetic ${category} task ${index + 1}`,
      category,
      type: "feature" as const,
    })),
  );
  return {
    slug: "synthetic",
    version: "1.0",
    title: "Synthetic suite",
    summary: "Made for a test.",
    probes: "open",
    taskCount: tasks.length,
    categoryCounts: (Object.entries(counts) as [Category, number][]).map(([category, count]) => ({ category, count })),
    tasks,
    citation: null,
  };
}

function base(slug: string, model: string): Omit<BoardRowFacts, "evidence" | "tier"> {
  return {
    entry: {
      slug,
      kind: "model",
      model,
      agent: null,
      agentVersion: null,
      reasoningEffort: null,
      networkPolicy: "not-stated",
    },
    submissionId: `00000000-0000-4000-8000-${String(slug.length).padStart(4, "0")}${Buffer.from(slug).toString("hex").padEnd(8, "0").slice(0, 8)}`,
    organization: "Synthetic organization",
    timeMin: null,
    costUsd: null,
    tokensM: null,
    steps: null,
    footnotes: [],
    date: "2026-10-28T00:00:00Z",
  };
}

/** A row with counts per category only, as a publication states them. */
export function reportedRow(model: string, counts: Record<Category, number>): BoardRowFacts {
  const resolved = counts.training + counts.inference + counts.rl;
  const total = 36;
  return {
    ...base(model.toLowerCase().replace(/[^a-z0-9]+/g, "-"), model),
    tier: "reported",
    evidence: {
      kind: "reported",
      resolved: { resolved, total, pct: Math.round((1000 * resolved) / total) / 10 },
      officialResolved: null,
      passedPct: null,
      byCategory: (Object.keys(publishedCounts) as Category[]).map((category) => ({
        category,
        resolved: counts[category],
        total: publishedCounts[category],
        pct: (100 * counts[category]) / publishedCounts[category],
      })),
    },
  };
}

/** A graded row: `scores` by task in the suite's order, each 0 to 1. */
export function gradedRow(
  suite: BoardFacts["suite"],
  model: string,
  scores: readonly number[],
  change: (task: TaskFacts, index: number) => Partial<TaskFacts> = () => ({}),
): BoardRowFacts {
  return {
    ...base(model.toLowerCase().replace(/[^a-z0-9]+/g, "-"), model),
    tier: "verified",
    evidence: {
      kind: "graded",
      tasks: suite.tasks.map((task, index) => {
        const score = scores[index] ?? 0;
        const facts: TaskFacts = {
          task: task.slug,
          verdict: score > 0 ? "resolved" : "failed",
          score,
          officialScore: score,
          passedShare: score > 0 ? 1 : 1 / 4,
          officialResolvedAttempts: score > 0 ? 1 : 0,
          probeRejectedAttempts: 0,
          requiredPassed: score > 0 ? 4 : 1,
          requiredTotal: 4,
          status: "completed",
        };
        return { ...facts, ...change(facts, index) };
      }),
    },
  };
}

/** The six published rows, by their exact counts per category. */
export function publishedRows(): BoardRowFacts[] {
  return [
    reportedRow("GPT-6 Sol", { training: 10, inference: 1, rl: 3 }),
    reportedRow("GPT-5.6 Sol", { training: 8, inference: 1, rl: 2 }),
    reportedRow("GLM 5.3", { training: 5, inference: 1, rl: 3 }),
    reportedRow("HY4 preview", { training: 8, inference: 1, rl: 4 }),
    reportedRow("DeepSeek V4 Pro", { training: 8, inference: 1, rl: 2 }),
    reportedRow("Kimi K3", { training: 6, inference: 1, rl: 4 }),
  ];
}

/** Facts of a board over `suite`. */
export function factsOf(suite: BoardFacts["suite"], rows: BoardRowFacts[]): BoardFacts {
  return { suite, promptCondition: "interface", skill: null, rows, notes: {} };
}
