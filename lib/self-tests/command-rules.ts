import type { Property } from "../contract/vocabulary";

/** A program whose run takes a quantity and shows it, and the arguments with which it does. */
export interface ProgramRule {
  property: Property;
  program: RegExp;
  when: (args: readonly string[]) => boolean;
}

/** The module that `python -m` runs. */
export const moduleOf = (args: readonly string[]): string =>
  args.includes("-m") ? (args[args.indexOf("-m") + 1] ?? "") : "";

const any = () => true;
const has = (pattern: RegExp) => (args: readonly string[]) => args.some((arg) => pattern.test(arg));
/** Programs that read a file and show it. */
const shows = /^(?:cat|grep|egrep|rg|awk|head|tail|watch)$/;

export const programRules: readonly ProgramRule[] = [
  { property: "resource.speed", program: /^(?:hyperfine|nsys|ncu|py-spy)$/, when: any },
  { property: "resource.speed", program: /^perf$/, when: has(/^(?:stat|record)$/) },
  { property: "resource.speed", program: /^(?:pytest|py\.test)$/, when: has(/^--(?:durations|benchmark-)/) },
  {
    property: "resource.speed",
    program: /^(?:python|python3|python3\.\d+)$/,
    when: (args) => /^(?:timeit|cProfile|profile|pyinstrument)$/.test(moduleOf(args)),
  },
  {
    property: "resource.memory",
    program: /^nvidia-smi$/,
    when: has(/^--query-(?:gpu|compute-apps)=.*\b(?:memory\.(?:used|free)|used_(?:gpu_)?memory)\b/),
  },
  { property: "resource.memory", program: /^(?:memray|mprof)$/, when: has(/^run$/) },
  { property: "resource.memory", program: /^valgrind$/, when: has(/^--tool=(?:massif|dhat)$/) },
  { property: "resource.memory", program: /^(?:pytest|py\.test)$/, when: has(/^--memray$/) },
  {
    property: "resource.memory",
    program: /^(?:python|python3|python3\.\d+)$/,
    when: (args) => /^(?:memory_profiler|memray|tracemalloc)$/.test(moduleOf(args)),
  },
  { property: "resource.memory", program: /^ps$/, when: has(/\b(?:rss|vsz)\b/) },
  {
    property: "resource.memory",
    program: shows,
    when: (args) =>
      has(/^\/proc\/[^/]+\/(?:status|smaps(?:_rollup)?)$/)(args) && has(/\bVm(?:HWM|RSS|Peak)\b|Rss|Pss/)(args),
  },
  { property: "resource.traffic", program: /^(?:tcpdump|tshark|iftop|nethogs)$/, when: any },
  { property: "resource.traffic", program: shows, when: has(/^\/proc\/(?:[^/]+\/)?net\/dev$/) },
  { property: "resource.traffic", program: /^nvidia-smi$/, when: (args) => args[0] === "nvlink" && has(/^-g/)(args) },
];
