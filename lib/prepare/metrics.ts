/** What a figure of the tables is. Headers show its meaning; its page, /docs/metrics/<key>, shows the rest. */
export interface Metric {
  key: string;
  title: string;
  /** One sentence, for a header. */
  meaning: string;
  definition: string;
  formula: string;
  /** How its uncertainty is stated, or why it has none. */
  interval: string;
  /** Modules that compute it, from the repository's root. */
  computedIn: readonly string[];
  /** Conclusions that it does not support. */
  notSaid: readonly string[];
}

const ranMeans =
  "None in the tables: it is a mean over tasks that differ a thousandfold in size, and no order is made by it. Pages of entries and comparisons give a seeded bootstrap over tasks.";

const metricList = [
  {
    key: "rank-set",
    title: "Rank set",
    meaning:
      "Every place that the data leave open to the entry: 1 + the entries significantly better, to N − the entries significantly worse.",
    definition:
      "The positions that an entry can hold on its board. Each pair of ranked entries is compared on the tasks that both were given, by the exact two-sided McNemar test, or by a sign-flip test where tasks have several attempts. The p-values of all pairs of the board are adjusted by Holm’s method. Where a row is known by its counts only, the pairing that speaks least for a difference decides whether two rows are told apart.",
    formula: "[1 + entries significantly better, N − entries significantly worse], at 5 % after Holm’s adjustment",
    interval: "It is the statement of uncertainty itself.",
    computedIn: ["lib/stats/rank-sets.ts", "lib/stats/paired-tests.ts", "lib/stats/holm.ts", "lib/prepare/board.ts"],
    notSaid: [
      "That entries with the same rank set are equal: the tasks are too few to tell them apart.",
      "An order within one category or filter: it is always of the whole board.",
    ],
  },
  {
    key: "resolved",
    title: "% resolved",
    meaning:
      "Tasks on which every required test, official and probe, passes on every required rank, per cent of the suite's tasks.",
    definition:
      "The share of the suite’s tasks that an entry resolves. A task is resolved when every required test passes on every required rank. A task without a grading counts as not resolved and is shown as missing. Where tasks have several attempts, a task counts with the mean over its attempts.",
    formula: "100 × resolved tasks ÷ tasks of the suite",
    interval:
      "Wilson 95 % interval of resolved out of all tasks. Rows with several attempts per task have none in the tables, since their counts are means; an entry’s page gives them a seeded bootstrap over tasks.",
    computedIn: ["lib/prepare/board.ts", "lib/stats/intervals.ts", "db/queries/summaries.ts"],
    notSaid: [
      "That a resolved change is ready for production: it passed its tests, and nobody reviewed it.",
      "That of two rows the higher is better: their rank sets say whether the difference can be told from chance.",
    ],
  },
  {
    key: "official",
    title: "Resolved with official tests alone",
    meaning: "Tasks on which every official test passes, per cent: what the row would resolve without probes.",
    definition:
      "The same share with the tests only that came with the change. It is what a benchmark without probes would report of the same patches.",
    formula: "100 × tasks whose required official tests all pass ÷ tasks of the suite",
    interval: "Wilson 95 % interval, as for % resolved.",
    computedIn: ["lib/prepare/board.ts", "lib/stats/intervals.ts", "db/queries/summaries.ts"],
    notSaid: ["That these patches do what the change asks for: the probes show how many do not."],
  },
  {
    key: "rejected",
    title: "Probe rejection",
    meaning: "Of the attempts that pass every official test, those that the probes reject, per cent.",
    definition:
      "Of the attempts that pass every required official test, the share that fails a required probe. It is counted by attempt, and is missing where no attempt passes the official tests.",
    formula: "100 × official-resolved attempts that a probe rejects ÷ official-resolved attempts",
    interval:
      "None in the tables: the counts stand beside it. Wilson 95 % interval for a row among the probes, and on an entry’s page where tasks have one attempt; else a seeded bootstrap over tasks.",
    computedIn: ["lib/prepare/board.ts", "lib/stats/bootstrap.ts", "db/queries/summaries.ts"],
    notSaid: [
      "That a lower share is a better entry: one that passes few official tests gives the probes little to reject.",
      "How many mistakes no probe looks for.",
    ],
  },
  {
    key: "passed",
    title: "% passed",
    meaning: "Required tests that pass on a task, per cent, averaged over the suite's tasks.",
    definition:
      "For each task the share of its required tests that pass, then the mean over the suite’s tasks. Each task weighs the same, however many tests it has. A task without a grading counts as 0.",
    formula: "mean over tasks of 100 × passed required tests ÷ required tests",
    interval:
      "A seeded bootstrap over tasks, on the submission’s page: tests of a task pass and fail together, so they are no independent draws.",
    computedIn: [
      "lib/prepare/board.ts",
      "lib/prepare/submission.ts",
      "lib/stats/bootstrap.ts",
      "db/queries/summaries.ts",
    ],
    notSaid: [
      "How near a change is to right: tests that the code base passes already count too.",
      "An order of entries: the ranking is by % resolved.",
    ],
  },
  {
    key: "category",
    title: "Training, Inference, RL",
    meaning: "Resolved share of a category's tasks, per cent.",
    definition:
      "% resolved over the tasks of one category: training (changes to Megatron-LM in the published suite), inference (vLLM), reinforcement learning (verl).",
    formula: "100 × resolved tasks of the category ÷ tasks of the category",
    interval: "Wilson 95 % interval; with few tasks it is wide.",
    computedIn: ["lib/prepare/board.ts", "lib/stats/intervals.ts"],
    notSaid: ["A strength or weakness: no test of a category is made, and its few tasks would rarely show one."],
  },
  {
    key: "time",
    title: "Time",
    meaning: "The agent's run time, minutes, mean per task. Lower is better.",
    definition: "Minutes from the agent’s start to its end, as its run reports them, averaged over tasks.",
    formula: "mean over tasks of the run’s minutes",
    interval: ranMeans,
    computedIn: ["db/queries/summaries.ts"],
    notSaid: [
      "How fast a model answers: it holds waiting, tools and tests that the agent ran.",
      "Anything that was measured here: it is the run’s own statement, also on verified rows.",
    ],
  },
  {
    key: "cost",
    title: "Cost",
    meaning: "API cost at list prices, US dollars, mean per task. Lower is better.",
    definition: "US dollars for the run’s tokens at list prices, as the run states them, averaged over tasks.",
    formula: "mean over tasks of the sum over token kinds of tokens × price",
    interval: ranMeans,
    computedIn: ["db/queries/summaries.ts"],
    notSaid: [
      "What anybody paid: discounts and hosting of one’s own are left out.",
      "Anything that was measured here: tokens are the run’s own statement.",
    ],
  },
  {
    key: "tokens",
    title: "Tokens",
    meaning: "Tokens consumed, cached input included, millions, mean per task. Lower is better.",
    definition:
      "Input without cache, cache reads, cache writes, output without reasoning, and reasoning: disjoint kinds whose sum is the total, in millions, averaged over tasks.",
    formula: "mean over tasks of input + cache read + cache write + output + reasoning",
    interval: ranMeans,
    computedIn: ["db/queries/summaries.ts"],
    notSaid: ["A comparison across providers: their tokens are of different sizes."],
  },
  {
    key: "steps",
    title: "Steps",
    meaning: "Completed model turns, mean per task. Lower is better.",
    definition:
      "Turns that the model completed: steps of the trajectory whose source is the agent, averaged over tasks.",
    formula: "mean over tasks of the run’s completed model turns",
    interval: ranMeans,
    computedIn: ["db/queries/summaries.ts"],
    notSaid: ["How much work was done: a turn may call one tool or many."],
  },
  {
    key: "solve-rate",
    title: "Solve rate of a task",
    meaning: "Ranked entries that resolve the task, of all ranked entries of the suite version.",
    definition:
      "The share of the ranked entries, of every prompt condition and skill, that resolve the task. Reference patch sets are left out.",
    formula: "100 × ranked entries that resolve the task ÷ ranked entries",
    interval: "Wilson 95 % interval where each entry has one attempt.",
    computedIn: ["lib/prepare/tasks.ts", "lib/stats/intervals.ts"],
    notSaid: ["How hard the task is in itself: entries share models and agents, so they are no independent draws."],
  },
  {
    key: "discrimination",
    title: "Discrimination of a task",
    meaning:
      "Correlation over ranked entries of the task's score with the mean score on all other tasks, from −1 to 1.",
    definition:
      "Item-rest correlation: near 1, entries that resolve much resolve it and the others do not; near 0, it tells them not apart. It is missing with fewer than three ranked entries, or where all of them fare alike.",
    formula: "Pearson’s r of the task’s scores with the entries’ means over the other tasks",
    interval: "None: with few entries it is a description, and no test is made of it.",
    computedIn: ["lib/stats/discrimination.ts", "lib/prepare/tasks.ts"],
    notSaid: ["That a task with a low value is a bad one: entries may be alike."],
  },
  {
    key: "pass-at-k",
    title: "pass@k and pass^k",
    meaning: "The chance that one of k attempts at a task resolves it, and the chance that all of k do.",
    definition:
      "Shown where every attempted task has more than one attempt. Both are the unbiased estimates from all attempts at a task, averaged over the suite’s tasks; a task without an attempt counts as 0.",
    formula: "pass@k = 1 − C(n − c, k) ÷ C(n, k); pass^k = C(c, k) ÷ C(n, k); n attempts, c of them resolve",
    interval: "A seeded bootstrap over tasks, on an entry’s page.",
    computedIn: ["lib/stats/pass-at-k.ts", "lib/prepare/entry-repeats.ts"],
    notSaid: ["What a user gets: somebody has to know which of the k attempts is right."],
  },
] as const satisfies readonly Metric[];

export type MetricKey = (typeof metricList)[number]["key"];

/** Every metric, in the order of the tables. */
export const metrics: readonly Metric[] = metricList;

/** A metric's one sentence, for the header of its column. */
export function metricMeaning(key: MetricKey): string {
  return metrics.find((metric) => metric.key === key)?.meaning ?? "";
}
