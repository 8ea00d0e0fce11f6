import { describe, expect, it } from "vitest";
import { customReasons, customSentence, type StatedConfiguration } from "./entry-custom";

const standard = { prompt_condition: "interface", skill: "none", network_policy: "none", time_min: 60 } as const;
const entry = (changed: Partial<StatedConfiguration> = {}): StatedConfiguration => ({
  kind: "model",
  promptCondition: "interface",
  skill: null,
  networkPolicy: "none",
  budget: { timeMin: 60, costUsd: null, tokensM: null, steps: null },
  ...changed,
});

describe("an entry is custom", () => {
  it("where prompt, skill, network or a limit differ from the suite's standard, each with both sides", () => {
    const reasons = customReasons(
      entry({
        promptCondition: "pr-description",
        skill: { name: "synthetic skill" },
        networkPolicy: "open",
        budget: { timeMin: 120, costUsd: 5, tokensM: null, steps: null },
      }),
      standard,
    );
    expect(reasons.map(({ part }) => part)).toEqual(["prompt", "skill", "network", "time"]);
    expect(customSentence(reasons)).toBe(
      "pull-request description (standard: interface prompt); skill synthetic skill (standard: no skill); network open (standard: network none); 120 min (standard: 60 min)",
    );
  });

  it("with less than the standard too", () => {
    const budget = { timeMin: 30, costUsd: null, tokensM: null, steps: null };
    expect(customReasons(entry({ budget }), standard)).toHaveLength(1);
  });
});

describe("an entry is not custom", () => {
  it.each<[string, StatedConfiguration]>([
    ["as the standard", entry()],
    ["where it does not state its limits or its network", entry({ networkPolicy: "not-stated", budget: undefined })],
    ["where its board states prompt and skill", { kind: "model", networkPolicy: "none" }],
    ["as a reference set", entry({ kind: "reference", networkPolicy: "open" })],
  ])("%s", (_name, configuration) => {
    expect(customReasons(configuration, standard)).toEqual([]);
  });

  it("on a suite that states no standard", () => {
    expect(customReasons(entry({ networkPolicy: "open" }), undefined)).toEqual([]);
    expect(customReasons(entry({ networkPolicy: "open" }), null)).toEqual([]);
  });
});
