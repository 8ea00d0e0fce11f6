import { describe, expect, it } from "vitest";
import type { TrajectoryFacts } from "@/lib/contract/trajectory";
import {
  firstLine,
  lastStepPage,
  parseTrajectoryView,
  stepLines,
  trajectoryFactWords,
  trajectoryHref,
  trajectoryNotes,
  trajectorySteps,
  trajectoryViewPath,
} from "./trajectory-view";

const attemptId = "0192d3a4-0000-7000-8000-000000000001";
const viewOf = (address: string) => {
  const { pathname, searchParams } = new URL(address, "http://site.test");
  const path = trajectoryViewPath(pathname, searchParams);
  return parseTrajectoryView(path.split("/").slice(2));
};

describe("the address of a trajectory", () => {
  it("asks for steps from one on, or for one that stands open below three others", () => {
    expect(viewOf(`/trajectories/${attemptId}?from=51`)).toEqual({ attemptId, from: 51, step: null });
    expect(viewOf(`/trajectories/${attemptId}?step=60`)).toEqual({ attemptId, from: 57, step: 60 });
    expect(viewOf(`/trajectories/${attemptId}?step=2`)).toEqual({ attemptId, from: 1, step: 2 });
    expect(viewOf(`/trajectories/${attemptId.toUpperCase()}?from=1`)).toEqual({ attemptId, from: 1, step: null });
  });

  it.each(["step=0", "step=-1", "step=1e3", "from=99999999", "from=x&step=", "other=1"])(
    "asks for the beginning where no step can be meant: %s",
    (query) => {
      expect(viewOf(`/trajectories/${attemptId}?${query}`)).toEqual({ attemptId, from: 1, step: null });
    },
  );

  it.each(["", "no-uuid", `${attemptId}/more`])("is none of another form: %j", (rest) => {
    expect(viewOf(`/trajectories/${rest}?step=1`)).toBeNull();
  });

  it("is what is read again", () => {
    expect(trajectoryHref({ attemptId, step: 60 })).toBe(`/trajectories/${attemptId}?step=60#S60`);
    expect(trajectoryHref({ attemptId, from: 51 })).toBe(`/trajectories/${attemptId}?from=51`);
    expect(trajectoryHref({ attemptId, from: 1 })).toBe(`/trajectories/${attemptId}`);
  });
});

it("pages lie before and after what is shown, and none beyond the ends", () => {
  expect(trajectorySteps({ from: 1, steps: 50 })).toEqual({ first: null, previous: null, next: null, last: null });
  expect(trajectorySteps({ from: 1, steps: 51 })).toEqual({ first: null, previous: null, next: 51, last: 2 });
  expect(trajectorySteps({ from: 20, steps: 200 })).toEqual({ first: 1, previous: 1, next: 70, last: 151 });
  expect(trajectorySteps({ from: 151, steps: 200 })).toEqual({ first: 1, previous: 101, next: null, last: null });
  expect(lastStepPage(3)).toBe(1);
});

describe("a step in a line", () => {
  const excerpt = (text: string) => ({ text, chars: text.length });

  it("is the first that says something, cut, without what would act", () => {
    expect(firstLine(" \n\n  first \u202e line  \nsecond")).toBe("first <U+202E> line");
    expect(firstLine("\u001b[1;31mred\u001b[0m and \u001b[2K")).toBe("red and ␛[2K");
    expect(firstLine("\u001b[0m\nsaid")).toBe("said");
    expect(firstLine("\u001b[31m   red")).toBe("red");
    const coloured = [..."The quick brown fox jumps over the lazy dog"].map((sign) => `\u001b[38;2;255;100;1m${sign}`);
    expect(firstLine(coloured.join(""))).toBe("The quick brown fox jumps over the lazy dog");
    expect(firstLine("x".repeat(1000))).toHaveLength(160);
    expect(firstLine(`x${"\u{1F600}".repeat(500)}`)).toBe(`x${"\u{1F600}".repeat(79)}…`);
    expect(firstLine(`xy${"\u{1F600}".repeat(500)}`)).toBe(`xy${"\u{1F600}".repeat(78)}…`);
    expect(firstLine(" \n ")).toBe("");
  });

  it("names what is called; arguments over several lines stand in one", () => {
    const calls = [
      { tool: "bash", arguments: excerpt("ls\npwd"), results: [] },
      { tool: "edit", arguments: excerpt('{\n "path": "a",\n "n": 1\n}'), results: [] },
    ];
    expect(stepLines({ message: excerpt("I look.\nThen I edit."), calls })).toEqual({
      line: "I look.",
      calledTools: [
        { tool: "bash", line: "ls" },
        { tool: "edit", line: '{ "path": "a", "n": 1 }' },
      ],
    });
  });
});

describe("what a trajectory says of its run", () => {
  const silent: TrajectoryFacts = {
    version: "ATIF-v1.7",
    agent: "synthetic-agent",
    agentVersion: "1",
    model: null,
    steps: 1,
    agentSteps: 1,
    toolCalls: 0,
    subagents: 0,
    startedAt: null,
    endedAt: null,
    promptTokens: null,
    completionTokens: null,
    cachedTokens: null,
    costUsd: null,
    differing: [],
  };

  it("leaves out what it does not state", () => {
    expect(trajectoryFactWords(silent)).toEqual(["1 model turn", "0 tool calls"]);
    expect(trajectoryNotes(silent)).toEqual([]);
  });

  it("is time, tokens and cost, with what has to be said beside them", () => {
    const facts: TrajectoryFacts = {
      ...silent,
      agentSteps: 2,
      startedAt: "2026-01-01T00:00:00.000Z",
      endedAt: "2026-01-01T00:02:30.000Z",
      promptTokens: 2_200_000,
      cachedTokens: 1_400_000,
      completionTokens: 120,
      costUsd: 0.03,
      subagents: 1,
      differing: ["promptTokens", "costUsd"],
    };
    const words = trajectoryFactWords(facts).join(", ");
    expect(words).toContain("2 model turns");
    expect(words).toContain("2.20 M input tokens, 1.40 M of them cached");
    expect(words).toContain("120 output tokens");
    const [differing, subagents] = trajectoryNotes(facts);
    expect(differing).toContain("differ in input tokens, cost;");
    expect(subagents).toContain("1 subagent too");
  });

  it("calls no tokens a part of fewer", () => {
    const facts: TrajectoryFacts = { ...silent, promptTokens: 200, cachedTokens: 1_400_000 };
    expect(trajectoryFactWords(facts).join(", ")).toContain("200 input tokens, 1.40 M cached");
    expect(trajectoryNotes(facts)).toEqual([expect.stringContaining("more cached tokens than input tokens")]);
    expect(trajectoryNotes({ ...facts, cachedTokens: 200 })).toEqual([]);
  });
});
