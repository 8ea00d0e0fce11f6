import { describe, expect, it } from "vitest";
import { addedTestCode } from "./added-code";
import { logicalLines, withoutStringsAndComments } from "./python-text";
import { findSelfTests } from "./self-tests";

/** A patch that adds a file. */
function adding(path: string, ...lines: string[]): string {
  return [
    `diff --git a/${path} b/${path}`,
    "new file mode 100644",
    "--- /dev/null",
    `+++ b/${path}`,
    `@@ -0,0 +1,${lines.length} @@`,
    ...lines.map((line) => `+${line}`),
    "",
  ].join("\n");
}

const checksOf = (...lines: string[]) => findSelfTests(adding("tests/unit/test_pool.py", ...lines)).checks;

describe("what counts as added", () => {
  it("is nothing where a patch touches the product only, is empty, or is no diff", () => {
    const none = { tests: 0, assertions: 0, checks: [] };
    expect(findSelfTests(adding("pool/blocks.py", "def release(block):", "    assert block.shape == (2,)"))).toEqual(
      none,
    );
    expect(findSelfTests("")).toEqual(none);
    expect(findSelfTests("assert torch.equal(a, b)\n\u0000\u001b[31m")).toEqual(none);
  });

  it("is a test function outside of test files too, and neither text nor comments", () => {
    const patch = adding(
      "pool/selfcheck.py",
      "PEAK = torch.cuda.max_memory_allocated()",
      "def test_release():",
      '    """assert out.shape == (4, 8) and peak_memory < 3"""',
      "    # assert elapsed < 3",
      "    assert release(1) == 1",
      "def helper():",
      "    assert out.dtype == torch.float32",
    );
    expect(findSelfTests(patch)).toEqual({ tests: 1, assertions: 1, checks: ["value"] });
  });

  it("is no test that was there before: what it gains counts, the test does not", () => {
    const patch = [
      "diff --git a/tests/test_sync.py b/tests/test_sync.py",
      "--- a/tests/test_sync.py",
      "+++ b/tests/test_sync.py",
      "@@ -10,5 +10,6 @@ import torch",
      "-def test_weights(rank):",
      "+def test_weights(rank, world):",
      "     out = sync(rank)",
      "-    assert out is not None",
      "+    assert out.dtype == torch.bfloat16",
      "+    assert torch.equal(out, expected(rank, world))",
      "     close()",
      "",
    ].join("\n");
    expect(findSelfTests(patch)).toEqual({ tests: 0, assertions: 2, checks: ["value", "shape-layout-dtype"] });
  });

  it("keeps decorators with their test and helpers apart", () => {
    const [file] = addedTestCode(
      adding(
        "tests/test_a.py",
        "import torch",
        "class TestA:",
        "    @pytest.mark.parametrize(",
        '        "size", [1, 2]',
        "    )",
        "    def test_a(self, size):",
        "        assert size",
        "    def helper(self):",
        "        return 1",
      ),
    );
    expect(file?.tests).toEqual([
      {
        name: "test_a",
        lines: ['    @pytest.mark.parametrize( "", [1, 2] )', "    def test_a(self, size):", "        assert size"],
      },
    ]);
    expect(file?.rest).toEqual(["import torch", "class TestA:", "    def helper(self):", "        return 1"]);
  });
});

describe("each property", () => {
  it("memory: a peak that is taken, kept under a name and compared", () => {
    expect(
      checksOf(
        "def test_resharding_holds_one_shard():",
        "    torch.cuda.reset_peak_memory_stats()",
        "    before = torch.cuda.memory_allocated()",
        "    reshard(model)",
        "    grown = torch.cuda.max_memory_allocated() - before",
        "    limit = 2 * shard_size",
        "    assert grown <= limit",
      ),
    ).toEqual(["resource.memory"]);
  });

  it("memory: not where it is printed only, and not by a test without assertions", () => {
    expect(
      checksOf(
        "def test_it():",
        "    peak = torch.cuda.max_memory_allocated()",
        "    print(peak)",
        "    assert run() == 3",
      ),
    ).toEqual(["value"]);
    expect(checksOf("def test_it():", "    peak_memory = torch.cuda.max_memory_allocated()")).toEqual([]);
  });

  it("memory: through a helper of the same file", () => {
    expect(
      checksOf(
        "def footprint(call):",
        "    tracemalloc.start()",
        "    call()",
        "    return tracemalloc.get_traced_memory()[1]",
        "def test_gather_is_lean():",
        "    taken = footprint(gather)",
        "    assert taken < 1 << 20",
      ),
    ).toEqual(["resource.memory"]);
  });

  it("memory: under a key, and told to a helper that asserts", () => {
    expect(
      checksOf(
        "def test_no_more_than_before():",
        "    taken = {}",
        "    for name in names:",
        "        _, taken[name] = tracemalloc.get_traced_memory()",
        "    _ = run()",
        "    check_limit('x', value=taken['now'], limit=taken['before'])",
      ),
    ).toEqual(["resource.memory"]);
    expect(
      checksOf("def test_other():", "    _, top = tracemalloc.get_traced_memory()", "    _ = 3", "    assert _ > 2"),
    ).toEqual([]);
  });

  it("speed: time that an assertion reads, and no deadline that a loop waits for", () => {
    expect(
      checksOf(
        "def test_abort_is_quick():",
        "    start = time.perf_counter()",
        "    router.abort_all()",
        "    taken = time.perf_counter() - start",
        "    assert taken < 0.5",
      ),
    ).toEqual(["resource.speed"]);
    expect(
      checksOf(
        "def test_abort_arrives():",
        "    deadline = time.monotonic() + 5",
        "    while time.monotonic() < deadline and not router.idle:",
        "        time.sleep(0.01)",
        "    assert router.idle",
      ),
    ).toEqual([]);
  });

  it("traffic: calls of a collective, or bytes that went over the wire", () => {
    expect(
      checksOf(
        "def test_one_collective():",
        "    with mock.patch.object(dist, 'all_reduce') as all_reduce:",
        "        step()",
        "    assert all_reduce.call_count == 1",
      ),
    ).toEqual(["value", "resource.traffic"]);
    expect(checksOf("def test_wire():", "    assert stats.bytes_sent <= 1024")).toEqual(["resource.traffic"]);
    expect(checksOf("def test_half():", "    assert group.stats.total_sent() < 0.6 * before")).toEqual([
      "resource.traffic",
    ]);
    expect(checksOf("def test_mail():", "    assert message.sent")).toEqual([]);
    expect(checksOf("def test_sum():", "    dist.all_reduce(out)", "    assert torch.equal(out, total)")).toEqual([
      "value",
    ]);
  });

  it("shape, layout, dtype: read by an assertion over several lines too", () => {
    expect(checksOf("def test_shape():", "    assert (", "        out.shape", "        == expected", "    )")).toEqual([
      "value",
      "shape-layout-dtype",
    ]);
    expect(checksOf("def test_make():", "    out = torch.zeros(x.shape)", "    assert out.sum() < 1")).toEqual([]);
  });

  it("state and lifecycle: an assertion after an event, or about what is held", () => {
    expect(
      checksOf("def test_resume():", "    engine.load_state_dict(saved)", "    assert engine.step() == 4"),
    ).toEqual(["value", "state-lifecycle"]);
    expect(checksOf("def test_free():", "    assert pool.num_free_blocks > 7")).toEqual(["state-lifecycle"]);
    expect(checksOf("def test_end():", "    assert run() > 3", "    engine.shutdown()")).toEqual([]);
  });

  it("condition: several settings, or a refusal", () => {
    expect(
      checksOf("@pytest.mark.parametrize('size', [1, 2])", "def test_size(size):", "    assert run(size) > 0"),
    ).toEqual(["condition"]);
    expect(checksOf("def test_bad():", "    with pytest.raises(ValueError):", "        run(-1)")).toEqual([
      "condition",
    ]);
  });

  it("value: closeness and equality, not an order", () => {
    expect(checksOf("def test_v():", "    torch.testing.assert_close(out, expected)")).toEqual(["value"]);
    expect(checksOf("class TestV(TestCase):", "    def test_v(self):", "        self.assertEqual(run(), 3)")).toEqual([
      "value",
    ]);
    expect(checksOf("def test_v():", "    assert run() >= 3")).toEqual([]);
  });
});

describe("text that is hard to read", () => {
  it("loses strings and comments and keeps its lines", () => {
    const source = 'a = "x # y"  # z\nb = \'it\\\'s\'\nc = """one\n"two" # three\n"""\nd = 1';
    expect(withoutStringsAndComments(source)).toBe('a = ""  \nb = ""\nc = ""\n\n\nd = 1');
  });

  it("half of a pair of brackets ends with the next definition, half a string takes the rest", () => {
    expect(logicalLines("call(\n  1\ndef test_a():\n  assert x")).toEqual(["call( 1", "def test_a():", "  assert x"]);
    expect(withoutStringsAndComments("x = 1\ny = '''open\nassert\\")).toBe('x = 1\ny = ""\n');
  });

  it("ends in time whatever it holds", () => {
    const started = performance.now();
    findSelfTests(adding("tests/test_a.py", "def test_a():", `    assert ${"all_reduce ( ".repeat(40_000)}`));
    findSelfTests(adding("tests/test_a.py", `"${"\\".repeat(300_001)}`, `'''${"'".repeat(100_000)}`));
    findSelfTests(adding("tests/test_a.py", "with ".repeat(60_000), "a,".repeat(100_000)));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
