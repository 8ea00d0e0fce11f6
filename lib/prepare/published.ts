/** Headers of the columns that publications print, by the key that a figure is stored under. */
export const publishedColumnLabels: Readonly<Record<string, string>> = {
  resolved_pct: "Resolved",
  passed_pct: "Passed",
  official_pct: "Official tests",
  with_probes_pct: "With probes",
  time_min: "Time",
  cost_usd: "Cost",
  tokens_m: "Tokens",
  input_m: "Input",
  cache_read_m: "Cache read",
  output_m: "Output",
  reasoning_m: "Reasoning",
  steps: "Steps",
  training: "Training",
  inference: "Inference",
  rl: "RL",
  feature: "Feature",
  performance: "Performance",
  refactor: "Refactor",
  bugfix: "Bug fix",
  total: "Total",
  all: "All",
  "megatron-lm": "Megatron-LM",
  verl: "verl",
  vllm: "vLLM",
};

/** A column's header: its known name, else its key in words. */
export function publishedColumnLabel(key: string): string {
  return publishedColumnLabels[key] ?? key.replaceAll(/[_-]+/g, " ").replace(/^./, (letter) => letter.toUpperCase());
}

/** `table4` as `Table 4`; other keys in words. */
export function publishedTableNumber(key: string): string {
  const number = /^table(\d+)$/.exec(key)?.[1];
  return number ? `Table ${number}` : key.replace(/^./, (letter) => letter.toUpperCase());
}
