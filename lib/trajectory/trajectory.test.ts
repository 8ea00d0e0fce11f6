import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InfraDevError } from "../contract/errors";
import { shownStepSchema, trajectoryFactsSchema, trajectoryLimits } from "../contract/trajectory";
import { type ReadEnd, readTrajectory } from "./read-trajectory";
import { redactDocument, redactedTrajectory, redactTokens } from "./redact";
import { commandOf, shownStep } from "./shown-step";
import { StepSplitter } from "./step-splitter";
import { inPieces, syntheticTrajectory } from "./testing";

async function read(text: string, size?: number) {
  const steps: unknown[] = [];
  const reader = readTrajectory(inPieces(text, size), "run.json");
  for (;;) {
    const next = await reader.next();
    if (next.done) return { steps, ...next.value };
    steps.push(next.value.raw);
  }
}

const refusal = async (text: string) => {
  const error = await read(text).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof InfraDevError)) throw error ?? new Error("nothing was refused");
  return error.problem;
};

const documentWith = (overrides: Record<string, unknown>) => JSON.stringify(syntheticTrajectory(overrides));
const stepsOf = (...steps: Record<string, unknown>[]) =>
  documentWith({ steps: steps.map((step, index) => ({ step_id: index + 1, source: "agent", message: "", ...step })) });

describe("a trajectory", () => {
  it("says of its run how many turns, tokens and minutes it took", async () => {
    const { facts } = await read(documentWith({}));
    expect(trajectoryFactsSchema.parse(facts)).toEqual({
      version: "ATIF-v1.7",
      agent: "synthetic-agent",
      agentVersion: "1.2.3",
      model: "synthetic-model",
      steps: 3,
      agentSteps: 2,
      toolCalls: 2,
      subagents: 0,
      startedAt: "2026-01-02T03:00:00.000Z",
      endedAt: "2026-01-02T03:02:30.000Z",
      promptTokens: 2200,
      completionTokens: 120,
      cachedTokens: 1400,
      costUsd: 0.03,
      differing: [],
    });
  });

  it("takes no duration from times that go back; those of the same minute may stand in another order", async () => {
    const at = (...times: string[]) => read(stepsOf(...times.map((time) => ({ timestamp: `2026-01-01T${time}Z` }))));
    expect((await at("09:00:00", "08:00:00", "09:11:00")).facts).toMatchObject({ startedAt: null, endedAt: null });
    expect((await at("09:00:30", "09:00:00", "09:11:00")).facts).toMatchObject({
      startedAt: "2026-01-01T09:00:00.000Z",
      endedAt: "2026-01-01T09:11:00.000Z",
    });
  });

  it("counts neither copied context nor turns that asked no model; sums need every turn, totals count before them", async () => {
    const metrics = { prompt_tokens: 100, completion_tokens: 10 };
    const text = stepsOf(
      { is_copied_context: true, metrics, timestamp: "2020-01-01T00:00:00Z" },
      { llm_call_count: 0 },
      { metrics },
      { metrics: { prompt_tokens: 50 } },
    );
    const { facts } = await read(text);
    expect(facts).toMatchObject({
      steps: 4,
      agentSteps: 2,
      promptTokens: 150,
      completionTokens: null,
      cachedTokens: null,
      startedAt: null,
    });
    const total = JSON.parse(text) as Record<string, unknown>;
    total["final_metrics"] = { total_prompt_tokens: 175, total_completion_tokens: 12 };
    expect((await read(JSON.stringify(total))).facts).toMatchObject({
      promptTokens: 175,
      completionTokens: 12,
      differing: ["promptTokens"],
    });
  });

  it("takes every version that there is, null for what is optional, parts with images, and fields that it does not know", async () => {
    for (const version of ["1.0", "1.4", "1.7"])
      await expect(read(documentWith({ schema_version: `ATIF-v${version}` }))).resolves.toBeDefined();
    const image = { type: "image", source: { media_type: "image/png", path: "images/1.png" } };
    const { steps } = await read(
      stepsOf({
        message: [{ type: "text", text: "see" }, image],
        timestamp: "2026-01-02T03:04:05.123456",
        tool_calls: null,
        observation: { results: [{ source_call_id: null, content: null, subagent_trajectory_ref: [{}] }] },
        surprise: { at: ["any", "depth"] },
      }),
    );
    expect(steps).toHaveLength(1);
  });

  it("is refused with file, place, rule and remedy", async () => {
    expect(await refusal("[1, 2")).toMatchObject({ code: "trajectory.json", where: "run.json" });
    expect(await refusal(documentWith({ schema_version: "ATIF-v9.0" }))).toMatchObject({
      code: "trajectory.form",
      where: "run.json#schema_version",
    });
    expect(await refusal(stepsOf({}, { source: "robot" }))).toMatchObject({
      code: "trajectory.form",
      where: "run.json#steps.1.source",
      rule: expect.any(String),
      remedy: expect.any(String),
    });
    expect(await refusal(stepsOf({ step_id: 2 }))).toMatchObject({ code: "trajectory.step-id" });
    expect((await refusal(documentWith({ steps: [] }))).message).toContain("no step");
    expect((await refusal(documentWith({ steps: "none" }))).where).toBe("run.json#steps");
    expect((await refusal(documentWith({ steps: [0] }))).where).toBe("run.json#steps");
    for (const again of ["[]", "[0,0,0]"]) {
      const twice = documentWith({}).replace(/\}$/, `,"steps":${again}}`);
      expect((await refusal(twice)).where).toBe("run.json#steps");
    }
    for (const wrong of [
      { timestamp: "0000-01-01T00:00:00Z" },
      { timestamp: "9999-12-31T23:59:59-12:00" },
      { metrics: { prompt_tokens: 9e15 } },
      { metrics: { cost_usd: 1e300 } },
    ])
      expect((await refusal(stepsOf(wrong))).code).toBe("trajectory.form");
    expect(await refusal(documentWith({}).replace('"user"', '"user",}'))).toMatchObject({
      code: "trajectory.json",
      where: "run.json#steps.0",
    });
  });

  it("is refused beyond its bounds before it fills memory", async () => {
    const deep = `{"steps":[${'{"a":'.repeat(trajectoryLimits.depth)}`;
    expect(await refusal(deep)).toMatchObject({ code: "trajectory.depth", where: "run.json#steps.0" });
    async function* endless(beginning: string): AsyncGenerator<Uint8Array> {
      yield Buffer.from(beginning);
      const piece = Buffer.alloc(1 << 20, "x");
      for (;;) yield piece;
    }
    const codeOf = async (beginning: string) => {
      try {
        for await (const _ of readTrajectory(endless(beginning), "run.json"));
      } catch (error) {
        return (error as InfraDevError).problem.message;
      }
      return "";
    };
    expect(await codeOf('{"notes":"')).toContain("beside the steps");
    expect(await codeOf('{"steps":[{"message":"')).toContain("the step has more than");
  });

  it("holds none of the memory that its bytes arrive in", () => {
    const splitter = new StepSplitter("run.json");
    const arrive = (text: string) => {
      const memory = Buffer.from(text);
      const steps = splitter.push(memory);
      memory.fill("x");
      return steps;
    };
    const steps = [...arrive('{"a":1,"steps":[{"b"'), ...arrive(":2},"), ...arrive('{"c":3}]}')];
    expect(steps.map((step) => Buffer.from(step).toString())).toEqual(['{"b":2}', '{"c":3}']);
    expect(Buffer.from(splitter.end().rest).toString()).toBe('{"a":1,"steps":[0,0]}');
  });

  it("or any other text is read or refused, and nothing else is thrown", async () => {
    const text = documentWith({});
    const damaged = fc
      .tuple(fc.nat(text.length), fc.nat(40), fc.string({ unit: "binary", maxLength: 4 }))
      .map(([at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone));
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), damaged), fc.integer({ min: 1, max: 2000 }), async (one, size) => {
        await read(one, size).catch((error: unknown) => {
          expect(error).toBeInstanceOf(InfraDevError);
        });
      }),
      { numRuns: 500 },
    );
  });

  it("is cut by bytes exactly as a parser reads it, wherever the pieces end", async () => {
    const value = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 8 }),
      fc.constantFrom('"', "\\", '\\"', "}],{[", '"steps":[', "\u2028", "0"),
      fc.integer(),
      fc.constant(null),
    );
    const tree = fc.dictionary(
      fc.oneof(fc.constantFrom("steps", "a\\", '"'), fc.string({ maxLength: 4 })),
      fc.oneof(
        value,
        fc.array(value, { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("steps", "x"), fc.array(value, { maxLength: 2 })),
      ),
      { maxKeys: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(tree, { minLength: 1, maxLength: 4 }),
        tree,
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        async (extras, extra, size, spaced) => {
          const document = syntheticTrajectory({
            extra,
            steps: extras.map((one, index) => ({ step_id: index + 1, source: "agent", message: "", extra: one })),
            notes: { steps: ["no step"] },
          });
          const text = JSON.stringify(document, null, spaced ? 2 : 0);
          const { steps, root } = await read(text, size);
          const { steps: expected, ...rest } = JSON.parse(text);
          expect(steps).toEqual(expected);
          expect(root).toEqual(rest);
        },
      ),
      { numRuns: 300 },
    );
  });
});

const key = `sk-${"a1".repeat(20)}`;

describe("what is taken out", () => {
  it("are tokens in any text, at any depth, and nothing that names or counts", async () => {
    const text = documentWith({ notes: `key ${key}` }).replace("release pool.py", `${key} \\" pool.py`);
    const reader = redactedTrajectory(readTrajectory(inPieces(text), "run.json"), redactTokens);
    let made = "";
    let end: ReadEnd | null = null;
    while (end === null) {
      const next = await reader.next();
      if (next.done) end = next.value;
      else made += next.value;
    }
    expect(made).not.toContain(key);
    const again = await read(made);
    expect(again.facts).toEqual(end.facts);
    expect(made.trimEnd().split("\n")).toHaveLength(3 + 3);
    expect(made.match(/\[redacted: token\]/g)).toHaveLength(2);
  });
});

describe("what looks like a secret", () => {
  const long = 400_000;
  it.each([
    ["web tokens that go on", "eyJ-".repeat(long)],
    ["keys that never end", "-----BEGIN PRIVATE KEY-----".repeat(long / 20)],
    ["dashes", "-".repeat(long)],
    ["tokens in a row", "sk-".repeat(long)],
    ["addresses", "://a:".repeat(long)],
    ["addresses with long names", `://${"a".repeat(100)}:${"b".repeat(200)}`.repeat(long / 100)],
    ["assignments", "TOKEN=".repeat(long)],
    ["assignments of calls", `TOKEN=${"a.".repeat(20)}`.repeat(long / 10)],
    ["headers", "authorization: bearer ".repeat(long / 4)],
  ])("is looked for in time, among %s", (_, text) => {
    const started = performance.now();
    redactTokens(text);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it("is taken out where it stands", () => {
    const jwt = `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`;
    const pem = `-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128-CBC,00\n\n${"QUJD\n".repeat(4)}-----END RSA PRIVATE KEY-----`;
    const hex = "0123456789abcdef".repeat(3);
    for (const [text, without] of [
      [`export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG`, "export AWS_SECRET_ACCESS_KEY=[redacted: token]"],
      [
        `WANDB_API_KEY='${hex}' DB_PASSWORD=correcthorse1`,
        "WANDB_API_KEY='[redacted: token]' DB_PASSWORD=[redacted: token]",
      ],
      ["curl -H 'Authorization: Bearer abcdef0123456789'", "curl -H 'Authorization: Bearer [redacted: token]'"],
      ["git clone https://bob:hunter2secret@host.example/x", "git clone https://bob:[redacted: token]@host.example/x"],
      [
        `npm_${"a".repeat(36)} pypi-${hex} irt_${hex} AIza${"b".repeat(35)} glpat-${hex}`,
        Array(5).fill("[redacted: token]").join(" "),
      ],
    ] as const)
      expect([redactTokens(text), redactTokens(without)]).toEqual([without, without]);
    for (const harmless of [
      "TOKENIZER_PATH=/models/llama MAX_TOKENS=4096000000",
      'API_KEY=os.environ["API_KEY"] TOKEN=$GITHUB_TOKEN PASSWORD=getpass()',
      "http://127.0.0.1:29500/a@b ssh://git@host/x pad_token=<|endoftext|>",
    ])
      expect(redactTokens(harmless)).toBe(harmless);
    expect(redactTokens(`Bearer ${jwt}, "${jwt}"\n${pem}`)).toBe(
      'Bearer [redacted: token], "[redacted: token]"\n[redacted: token]',
    );
    const call = { tool_call_id: key, function_name: "write", arguments: { source: key, deep: [{ type: key }] } };
    expect(redactDocument({ source: key, tool_calls: [call] }, redactTokens)).toEqual({
      source: key,
      tool_calls: [
        {
          tool_call_id: key,
          function_name: "write",
          arguments: { source: "[redacted: token]", deep: [{ type: "[redacted: token]" }] },
        },
      ],
    });
  });
});

describe("a step as it is shown", () => {
  const step = (overrides: Record<string, unknown>) =>
    shownStep({ step_id: 7, source: "agent", message: "", ...overrides } as Parameters<typeof shownStep>[0]);
  const call = (id: string, tool: string, args: Record<string, unknown>) => ({
    tool_call_id: id,
    function_name: tool,
    arguments: args,
  });

  it("puts results beside their calls and keeps the others apart", () => {
    const shown = step({
      timestamp: "2026-01-02T03:04:05+02:00",
      tool_calls: [call("a", "bash", { command: "ls" }), call("b", "edit", { path: "x", n: 1 })],
      observation: {
        results: [
          { source_call_id: "b", content: "done" },
          { content: [{ type: "image", source: { path: "1.png" } }] },
          { source_call_id: "a", content: "file" },
        ],
      },
    });
    expect(shownStepSchema.parse(shown)).toMatchObject({
      number: 7,
      at: "2026-01-02T01:04:05.000Z",
      calls: [
        { tool: "bash", arguments: { text: "ls" }, results: [{ text: "file" }] },
        { tool: "edit", arguments: { text: '{\n "path": "x",\n "n": 1\n}' }, results: [{ text: "done" }] },
      ],
      results: [{ text: "[image: 1.png]" }],
    });
  });

  it("is bounded whatever the step holds, and never cuts a character in two", () => {
    const long = "\u{1F600}".repeat(100_000);
    const shown = step({
      message: `x${long}`,
      tool_calls: Array.from({ length: 80 }, (_, index) => call(`${index}`, "bash", { command: long })),
      observation: { results: Array.from({ length: 500 }, () => ({ source_call_id: "0", content: long })) },
    });
    expect(JSON.stringify(shown).length).toBeLessThan(70_000);
    expect(shown.message.chars).toBe(200_001);
    expect(shown.message.text).toHaveLength(3999);
    expect(shown.leftOut).toBe(30 + 492);
    const args = { deep: Array.from({ length: 100_000 }, () => [0]) };
    const [wide] = step({ tool_calls: [call("a", "edit", args)] }).calls;
    expect(wide?.arguments.chars).toBe(JSON.stringify(args).length);
  });

  it("knows a shell's command under the names that agents give it, and no other tool's", () => {
    expect(commandOf(call("1", "execute_bash", { command: "a" }))).toBe("a");
    expect(commandOf(call("1", "Bash", { command: "a", timeout: 3 }))).toBe("a");
    expect(commandOf(call("1", "bash_command", { keystrokes: "a\n" }))).toBe("a\n");
    expect(commandOf(call("1", "shell", { command: ["bash", "-lc", "a | b"] }))).toBe("a | b");
    expect(commandOf(call("1", "shell", { command: ["pytest", "-x"] }))).toBe("pytest -x");
    expect(commandOf(call("1", "run_script", { script: "a" }))).toBe("a");
    expect(commandOf(call("1", "exec_command", { cmd: "a" }))).toBe("a");
    expect(commandOf(call("1", "run_shell_command", { cmd: "a" }))).toBe("a");
    expect(commandOf(call("1", "str_replace_editor", { command: "view", path: "x" }))).toBeNull();
    expect(commandOf(call("1", "web_search", { input: "pytest" }))).toBeNull();
    expect(commandOf(call("1", "bash", {}))).toBeNull();
  });
});
