import { describe, expect, it } from "vitest";
import printed from "@/db/seed/infradev-2610.36589.json";
import { type EntrySelfTestFacts, selfTestsAnswerSchema } from "@/lib/contract/self-tests-api";
import { prepareSelfTests, rarelyCheckedByPublication, selfTestsCsv, selfTestsLead } from "./self-tests";

const entryOf = (slug: string, kind: "model" | "reference"): EntrySelfTestFacts["entry"] => ({
  slug,
  kind,
  model: `Synthetic, "${slug}"`,
  agent: null,
  agentVersion: null,
  reasoningEffort: null,
  networkPolicy: "none",
  promptCondition: "interface",
  skill: null,
});

const untold = { trajectories: 0, commands: 0, withTestRuns: 0, commandChecks: {} };
const alpha = { ...untold, entry: entryOf("alpha", "model"), attempts: 5, read: 4, tests: 9, withTests: 3 };
const beta = { ...untold, entry: entryOf("beta", "model"), attempts: 6, read: 6, tests: 1, withTests: 1 };
const gold = {
  ...untold,
  entry: entryOf("gold", "reference"),
  attempts: 6,
  read: 6,
  tests: 0,
  withTests: 0,
  checks: {},
};
const facts: EntrySelfTestFacts[] = [
  { ...alpha, checks: { value: 3, "resource.memory": 1 } },
  { ...beta, checks: { value: 1 } },
  gold,
];
const source = { key: "arxiv:2610.36589", title: "Synthetic title", url: "https://example.org/paper" };

describe("shares of attempts", () => {
  const answer = prepareSelfTests(facts, [{ source }], "9");

  it("are over what was read, by kind and entry, with every property; an entry's with Wilson's interval", () => {
    expect(selfTestsAnswerSchema.parse(answer)).toEqual(answer);
    const [models, references] = answer.kinds;
    expect(models).toMatchObject({
      kind: "model",
      attempts: 11,
      read: 10,
      tests: 10,
      withTests: { attempts: 4, pct: 40 },
    });
    // entries try the same tasks, so the ten pooled attempts are no independent draws
    expect(models?.checks.find(({ property }) => property === "value")?.interval).toBeNull();
    // Wilson's interval of 1 in 4, worked out by hand.
    const [low, high] =
      answer.entries[0]?.checks.find(({ property }) => property === "resource.memory")?.interval ?? [];
    expect([low?.toFixed(1), high?.toFixed(1)]).toEqual(["4.6", "69.9"]);
    expect(models?.checks.map(({ attempts }) => attempts)).toEqual([4, 0, 0, 1, 0, 0, 0]);
    expect(references).toMatchObject({ kind: "reference", read: 6, withTests: { attempts: 0, pct: 0 } });
  });

  it("are missing where nothing was read, and a kind without attempts is left out", () => {
    const [model, ...others] = prepareSelfTests([{ ...alpha, read: 0, withTests: 0, checks: {} }], [], "9").kinds;
    expect(model?.withTests).toEqual({ attempts: 0, pct: null, interval: null });
    expect(others).toEqual([]);
  });

  it("stand beside what the publication states, as its copy has it", () => {
    expect(answer.published).toEqual([
      {
        title: source.title,
        url: source.url,
        rarelyChecked: ["resource.memory", "resource.speed", "resource.traffic"],
      },
    ]);
    expect(prepareSelfTests(facts, [{ source: { ...source, key: "another" } }], "9").published).toEqual([]);
    const words = { "resource.memory": "memory", "resource.speed": "time", "resource.traffic": "traffic" } as const;
    const stated = rarelyCheckedByPublication[`arxiv:${printed.source.arxiv}`]?.map(
      (property) => words[property as keyof typeof words],
    );
    expect(stated).toEqual(printed.claims.agent_tests_rarely_check);
  });

  it("are told in a sentence, and say so where no model has an attempt", () => {
    expect(selfTestsLead(answer)).toBe(
      "Four of ten attempts add tests of their own (40.0\u202f%). Attempts that check a resource: memory 1, speed 0, traffic 0.",
    );
    expect(selfTestsLead(prepareSelfTests([{ ...beta, checks: {} }], [], "9"))).toContain(
      "95\u202f% interval 3.0 to 56.4",
    );
    expect(selfTestsLead(prepareSelfTests([gold], [], "9"))).toMatch(/^No attempt of a model/);
  });

  it("of commands are over the trajectories that were read, apart from those of patches", () => {
    const told = {
      ...beta,
      checks: {},
      trajectories: 4,
      commands: 80,
      withTestRuns: 3,
      commandChecks: { "resource.speed": 2 },
    };
    const { kinds, entries } = prepareSelfTests([told], [], "9");
    expect(entries[0]).toMatchObject({
      read: 6,
      trajectories: 4,
      commands: 80,
      withTestRuns: { attempts: 3, pct: 75 },
    });
    expect(entries[0]?.commandChecks.find(({ property }) => property === "resource.speed")).toMatchObject({
      attempts: 2,
      pct: 50,
    });
    expect(entries[0]?.checks.every(({ attempts }) => attempts === 0)).toBe(true);
    expect(selfTestsLead({ rulesVersion: "9", kinds, entries, published: [] })).toContain(
      "Four come with a trajectory; by commands, a resource is checked in: memory 0, speed 2, traffic 0.",
    );
    const lines = selfTestsCsv({ rulesVersion: "9", kinds, entries, published: [] }).trimEnd().split(/\r?\n/);
    expect(lines).toHaveLength(1 + 2 * 7);
    expect(lines.at(-3)).toMatch(/,interface,,6,4,,3,commands,resource\.speed,2,50,/);
  });

  it("are one line an entry, source and property as CSV", () => {
    const lines = selfTestsCsv(answer).trimEnd().split(/\r?\n/);
    expect(lines).toHaveLength(1 + 3 * 7);
    expect(lines[4]).toMatch(/^alpha,model,"Synthetic, ""alpha""",,,interface,,5,4,9,3,patch,resource\.memory,1,25,/);
  });
});
