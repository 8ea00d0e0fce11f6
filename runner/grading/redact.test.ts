import { describe, expect, it } from "vitest";
import { createFrameMapper, parseStackDump } from "./frames";
import { createRedactor, redactTexts } from "./redact";

const env = (values: Record<string, string>) => values as unknown as NodeJS.ProcessEnv;

describe("redaction", () => {
  it("removes values of variables that are not known to be harmless, tokens, and the home folder", () => {
    const redact = createRedactor(
      new Map(),
      env({ HOME: "/home/someone", DEPLOY_PASS: "hunter2hunter2", PATH: "/usr/bin:/bin", SHORT: "abc" }),
    );
    expect(redact("pass hunter2hunter2 in /home/someone/x")).toBe("pass [redacted: DEPLOY_PASS] in ~/x");
    expect(redact(`key sk-${"a".repeat(24)}; hf_${"B".repeat(32)}`)).toBe("key [redacted: token]; [redacted: token]");
    expect(redact("PATH=/usr/bin:/bin abc")).toBe("PATH=/usr/bin:/bin abc");
  });

  it("of a document changes free texts only, whatever a secret equals or holds", () => {
    const multiline = 'first "line"\nsecond \\ lín\u00e9';
    const redact = createRedactor(
      new Map(),
      env({ HOME: "/", PGDATABASE: "infradev", COMPLETED: "completed", ML: multiline }),
    );
    const document = {
      format: "infradev-result/1",
      status: "completed",
      infradev: 1,
      reason: { code: "infradev.completed", message: `in infradev: ${multiline}`, evidence: ["infradev"] },
      frames: [{ line: 1, code: "x = 'infradev'", function: "infradev" }],
    };
    expect(redactTexts(document, redact)).toEqual({
      format: "infradev-result/1",
      status: "completed",
      infradev: 1,
      reason: {
        code: "infradev.completed",
        message: "in [redacted: PGDATABASE]: [redacted: ML]",
        evidence: ["[redacted: PGDATABASE]"],
      },
      frames: [{ line: 1, code: "x = '[redacted: PGDATABASE]'", function: "[redacted: PGDATABASE]" }],
    });
    expect(redactTexts({ line: 1, code: `${"x".repeat(392)}infradev` }, redact).code).toHaveLength(400);
  });

  it("gives folders their names in the sandbox, the longest first", () => {
    const folders = new Map([
      ["/tmp/w", "/grade"],
      ["/tmp/w/repo", "/grade/repo"],
    ]);
    const redact = createRedactor(folders, env({ HOME: "/" }));
    expect(redact("/tmp/w/repo/lib/a.py /tmp/w/guard/0")).toBe("/grade/repo/lib/a.py /grade/guard/0");
  });
});

describe("frames", () => {
  const mapper = createFrameMapper({
    repository: "/grade/repo",
    probes: "/grade/probes",
    isTest: (path) => path.startsWith("tests/"),
  });

  it("say whose code a file is, by paths relative to that place", () => {
    expect(mapper("/grade/repo/lib/a.py")).toEqual({ file: "lib/a.py", origin: "project" });
    expect(mapper("/grade/repo/tests/test_a.py")).toEqual({ file: "tests/test_a.py", origin: "test" });
    expect(mapper("/grade/probes/test_p.py")).toEqual({ file: "probes/test_p.py", origin: "probe" });
    expect(mapper("/home/x/venv/lib/python3.12/site-packages/torch/a.py")).toEqual({
      file: "torch/a.py",
      origin: "other",
    });
    expect(mapper("/usr/lib/python3.11/json/decoder.py")).toEqual({ file: "json/decoder.py", origin: "other" });
  });

  it("are read from a fault handler's dump, innermost last", () => {
    const dump = `Fatal Python error: Segmentation fault

Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 5 in wait

Current thread 0x00007f02 (most recent call first):
  File "/grade/repo/lib/a.py", line 7 in inner
  File "/grade/repo/tests/test_a.py", line 3 in test_a
  File "/usr/lib/python3/dist-packages/_pytest/python.py", line 194 in pytest_pyfunc_call

Extension modules: none`;
    expect(parseStackDump(dump, mapper).map(({ file, function: name }) => `${file} ${name}`)).toEqual([
      "tests/test_a.py test_a",
      "lib/a.py inner",
    ]);
    expect(parseStackDump("nothing", mapper)).toEqual([]);
  });
});
