import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TrajectoryStep } from "../contract/trajectory";
import { CommandReader } from "./commands";
import { simpleCommands } from "./shell-text";

type Call = [tool: string, args: Record<string, unknown>];

function read(...calls: Call[]) {
  const reader = new CommandReader();
  calls.forEach(([tool, args], index) => {
    const step: TrajectoryStep = {
      step_id: index + 1,
      source: "agent",
      message: "",
      tool_calls: [{ tool_call_id: "1", function_name: tool, arguments: args }],
    };
    reader.add(step);
  });
  return reader.result();
}

const bash = (...lines: string[]): Call => ["bash", { command: lines.join("\n") }];
const checksOf = (...lines: string[]) => read(bash(...lines)).checks;

describe("a shell's text", () => {
  const wordsOf = (text: string) => simpleCommands(text).map(({ words }) => words);

  it("is cut into simple commands without quotes, comments and redirections", () => {
    expect(wordsOf(`cd "my dir" && A=1 python -c 'print("a;b")' 2>&1 | tail -n 3 # && pytest`)).toEqual([
      ["cd", "my dir"],
      ["A=1", "python", "-c", 'print("a;b")', "2"],
      ["tail", "-n", "3"],
    ]);
    expect(wordsOf("if true; then a \\\n b; fi; (c $(d | e))")).toEqual([
      ["true"],
      ["a", "b"],
      ["fi"],
      ["c", "$(d | e)"],
    ]);
  });

  it("has here-documents, what they are written to, and the variables of its loops", () => {
    const [write, run] = simpleCommands("cat > a.py <<'END'\nprint(1)\nEND\nfor n in 1 2; do python a.py $n; done");
    expect(write).toEqual({ words: ["cat"], input: "print(1)", writes: "a.py", loops: [] });
    expect(run).toEqual({ words: ["python", "a.py", "$n"], input: null, writes: null, loops: ["n"] });
    expect(simpleCommands("for f in tests/*.py; do pytest $f; done")[0]?.loops).toEqual([]);
    expect(simpleCommands("for n in $(seq 1 4); do a $n; done; b").map(({ loops }) => loops)).toEqual([["n"], []]);
  });

  it("is read whatever it holds", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.constantFrom(
        "for ",
        " in 1 2",
        "; do ",
        "done",
        "python -c ",
        "bash -c ",
        "<<E\n",
        "\nE\n",
        "'",
        '"',
        "$(",
        "time ",
        "(",
        "[",
        "*",
        "$x ",
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        read(bash(parts.join("")));
      }),
      { numRuns: 1000 },
    );
  });

  it("ends in time whatever it holds, and however often a script of the agent's is run", () => {
    const started = performance.now();
    const write: Call = ["create", { path: "long.py", content: "x = f(1)\n".repeat(20_000) }];
    read(write, ...Array.from({ length: 2000 }, () => bash("python long.py")));
    for (const text of [
      '"'.repeat(200_000),
      `"${"\\".repeat(200_000)}`,
      "$(".repeat(100_000),
      "a <<b\n".repeat(30_000),
      "{".repeat(200_000),
      "for a in 1 2\nb $c\n".repeat(10_000),
    ])
      read(bash(text), bash(`python -c '${text}'`), bash(`python - <<'E'\nprint(f"${text}")\nE`));
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe("commands that check", () => {
  it("memory: a peak that code prints or asserts, or that a program measures", () => {
    expect(checksOf(`python -c "import torch; run(); print(torch.cuda.max_memory_allocated())"`)).toEqual([
      "resource.memory",
    ]);
    expect(
      checksOf(
        "cd /repo && python - <<'EOF'",
        "peak = torch.cuda.max_memory_allocated() / 2**20",
        `print(f"peak {peak:.1f} MiB of {limits['memory']}")`,
        "EOF",
      ),
    ).toEqual(["resource.memory"]);
    expect(checksOf("nvidia-smi --query-gpu=index,memory.used --format=csv")).toEqual(["resource.memory"]);
    expect(checksOf("/usr/bin/time -v python train.py")).toEqual(["resource.memory", "resource.speed"]);
    expect(checksOf("grep VmHWM /proc/self/status")).toEqual(["resource.memory"]);
  });

  it("time: what is timed is the agent's change, not its tools", () => {
    expect(checksOf("time pytest -q tests/test_pool.py")).toEqual(["resource.speed"]);
    expect(checksOf("python -m timeit -s 'import pool' 'pool.get()'")).toEqual(["resource.speed"]);
    expect(
      checksOf(
        "python3 - <<EOF",
        "t = time.perf_counter()",
        "run()",
        "took = time.perf_counter() - t",
        "print('took', took)",
        "EOF",
      ),
    ).toEqual(["resource.speed"]);
    expect(checksOf("time pip install torch")).toEqual([]);
    expect(checksOf("time python -m pip install torch")).toEqual([]);
    expect(checksOf("timeout 60 pytest -q")).toEqual([]);
  });

  it("traffic: counted sends, counters of the network", () => {
    expect(checksOf(`python -c 'run(); assert group.bytes_sent <= 1024'`)).toEqual(["resource.traffic"]);
    expect(checksOf("cat /proc/net/dev")).toEqual(["resource.traffic"]);
    expect(checksOf("NCCL_DEBUG=INFO torchrun --nproc_per_node=2 train.py")).toEqual([]);
  });

  it("shape, state, value, condition: as tests do, by assertions", () => {
    expect(checksOf(`python -c "assert run().shape == (2, 3)"`)).toEqual(["value", "shape-layout-dtype"]);
    expect(checksOf("python - <<EOF", "pool.release(block)", "assert pool.size", "EOF")).toEqual(["state-lifecycle"]);
    expect(checksOf("for n in 1 2 4; do torchrun --nproc-per-node $n check.py; done")).toEqual(["condition"]);
    expect(checksOf("python - <<EOF", "with pytest.raises(ValueError):", "    run(-1)", "EOF")).toEqual(["condition"]);
    expect(checksOf(`python -c "print(run().shape)"`)).toEqual([]);
  });

  it("in scripts and tests that the agent wrote, once it runs them, under whatever tool", () => {
    const code = "def test_it():\n    assert torch.cuda.max_memory_allocated() < 3\n";
    const write: Call = ["create_file", { path: "/tmp/check_pool.py", content: code }];
    expect(read(write)).toEqual({ commands: 0, testRuns: 0, checks: [] });
    expect(read(write, bash("uv run pytest -x /tmp/check_pool.py::test_it | tail"))).toEqual({
      commands: 1,
      testRuns: 1,
      checks: ["resource.memory"],
    });
    expect(
      read(
        bash("cat > t.sh <<E", `python -c "print(time.perf_counter() - start)"`, "E", "chmod +x t.sh"),
        bash("./t.sh"),
      ).checks,
    ).toEqual(["resource.speed"]);
    expect(read(bash("bash -lc 'cd a && python -m pytest -q'"))).toMatchObject({ testRuns: 1, checks: [] });
    expect(read(["execute_ipython_cell", { code: "print(tracemalloc.get_traced_memory())" }]).checks).toEqual([
      "resource.memory",
    ]);
    expect(read(["shell", { command: ["bash", "-lc", "time python run.py"] }]).checks).toEqual(["resource.speed"]);
  });
});

describe("commands that mention and do not check", () => {
  it.each([
    "grep -rn 'max_memory_allocated' src | head",
    "rg 'assert out.shape' tests",
    "sed -n '1,80p' bench/latency.py",
    "git log --grep peak_memory",
    `echo "assert peak < 3; print(torch.cuda.max_memory_allocated())"`,
    "cat > notes.py <<'EOF'\nprint(torch.cuda.max_memory_allocated())\nEOF",
    "pip install memory_profiler pytest-benchmark",
    "for name in numpy torch; do python -m pip install $name; done",
    "python timeit",
    "nvidia-smi",
    "ps aux | grep python",
    "python -c 'torch.cuda.reset_peak_memory_stats()'",
    `python -c "print('torch.cuda.max_memory_allocated()')"`,
    "# time python bench.py",
    "pytest -q -k 'memory or latency'",
    "man perf && which hyperfine",
    "for f in a.py b.py; do python $f; done",
    "for n in 1 2; do mkdir run-$n; done",
    "python -c 'import torch; x = torch.zeros(2, 3).shape'",
  ])("%s", (command) => {
    expect(checksOf(command)).toEqual([]);
  });

  it("steps of others, copied context and calls of other tools are not read", () => {
    const reader = new CommandReader();
    const call = { tool_call_id: "1", function_name: "bash", arguments: { command: "time pytest" } };
    const step: TrajectoryStep = { step_id: 1, source: "agent", message: "", tool_calls: [call] };
    reader.add({ ...step, source: "user" });
    reader.add({ ...step, is_copied_context: true });
    reader.add({ ...step, tool_calls: [{ ...call, function_name: "web_search" }] });
    expect(reader.result()).toEqual({ commands: 0, testRuns: 0, checks: [] });
  });
});
