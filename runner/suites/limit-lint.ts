import type { Group, TestsFile } from "@/lib/contract/task";
import { ratioUnit, unitsOfMeter } from "../resources/limits";

type Test = TestsFile["tests"][string];
type OutsideLimit = NonNullable<Test["limit"]> & { meter: NonNullable<NonNullable<Test["limit"]>["meter"]> };

/** What keeps a limit from being measured, or from deciding rightly. */
export type LimitFault = { id: string; message: string; remedy: string };

const propertyOf = {
  "wall-clock": "resource.speed",
  "gpu-memory": "resource.memory",
  "host-memory": "resource.memory",
  transport: "resource.traffic",
  nvlink: "resource.traffic",
  nccl: "resource.traffic",
} as const;
const leastGpus = { "gpu-memory": 1, nvlink: 2, nccl: 2 } as const;
const leastRepeats = 5;

/** Faults of the limits that the grader measures; see `runner/resources/README.md` for what each meter needs. */
export function findLimitFaults(testsFile: TestsFile, groups: readonly Group[]): LimitFault[] {
  const expected = new Set(testsFile.FAIL_TO_PASS);
  return Object.entries(testsFile.tests).flatMap(([id, test]) => {
    const { limit } = test;
    if (limit?.meter === undefined) {
      return limit?.repeats === undefined
        ? []
        : [{ id, message: "the limit says how often to measure, and not with which meter", remedy: "name its meter" }];
    }
    const group = groups.find((each) => each.id === test.group);
    const neighbours = Object.entries(testsFile.tests).filter(
      ([other, each]) => other !== id && each.group === test.group,
    );
    return faultsOf(
      test,
      { ...limit, meter: limit.meter },
      group,
      neighbours.map(([, each]) => each),
      expected.has(id),
    ).map((fault) => ({ id, ...fault }));
  });
}

function faultsOf(
  test: Test,
  limit: OutsideLimit,
  group: Group | undefined,
  neighbours: readonly Test[],
  failsOnBase: boolean,
): Omit<LimitFault, "id">[] {
  const faults: Omit<LimitFault, "id">[] = [];
  const add = (message: string, remedy: string) => faults.push({ message, remedy });
  const { meter } = limit;
  if (test.property !== propertyOf[meter]) {
    add(`a limit of ${meter} stands at a test of ${test.property}`, `let the test's property be ${propertyOf[meter]}`);
  }
  const relative = limit.relative_to !== null;
  const units = relative ? [ratioUnit] : unitsOfMeter(meter);
  if (!units.includes(limit.unit)) {
    const kind = relative ? "relative limit" : `limit of ${meter}`;
    add(`'${limit.unit}' is no unit of a ${kind}`, `use ${units.join(", ")}`);
  }
  if (limit.value <= 0) add(`a limit of ${limit.value} cannot be met`, "give the greatest value that is allowed");
  if (limit.relative_to === "base" && failsOnBase) {
    add("the limit is relative to base, which does not pass this test", "use relative_to = gold, or a p2p test");
  }
  if (group?.launcher === "script") {
    add("programs are measured as a whole launch, and have no call to measure", "write the test for pytest");
  }
  if (meter === "wall-clock") {
    if (!relative) add("a time by itself depends on the host", "add relative_to = base or gold, with unit = ratio");
    if ((limit.repeats ?? leastRepeats) < leastRepeats) {
      add(`${limit.repeats} repeats are too few to compare times`, `use ${leastRepeats} or more`);
    }
    if (relative && limit.value < 1.5) {
      add(`a ratio of times of ${limit.value} is within what two runs of one program differ by`, "use 1.5 or more");
    }
  }
  if (neighbours.some((each) => each.limit?.meter !== meter)) {
    add(
      `group '${test.group}' has tests beside it that ${meter} does not measure`,
      "give measured tests a group of their own",
    );
  } else if (neighbours.length > 0 && group?.isolation !== "test") {
    add(`several measured tests share a launch in group '${test.group}'`, 'use isolation = "test"');
  }
  if (meter === "transport" && (group?.nproc ?? 1) < 2) {
    add("one process sends nothing over its own interface", "use a group with nproc of 2 or more");
  }
  const gpus = meter in leastGpus ? leastGpus[meter as keyof typeof leastGpus] : 0;
  if (test.needs.gpus < gpus) {
    add(
      `${meter} is measured on ${gpus === 1 ? "a GPU" : "GPUs"}, and the test needs ${test.needs.gpus}`,
      `set needs.gpus to ${gpus} or more`,
    );
  }
  return faults;
}
