"""Shared blocks on one rank."""

import gc
import tracemalloc

import pytest
from infradev_report import check_resource, checks

from tinyfleet.serve import Request, TinyModel


def run(engine, max_steps=300):
    """Step until the engine is empty and return the tokens of each request."""
    outputs = {}
    for _ in range(max_steps):
        for output in engine.step():
            outputs.setdefault(output.request_id, []).append(output.token)
        if not engine.num_requests:
            return outputs
    raise AssertionError(f"{engine.num_requests} requests are left after {max_steps} steps")


def computed_by(engine, request):
    """Serve one request alone; return its tokens and how many rows the model computed."""
    rows = [0]
    compute = type(engine.model).row

    def counted(*arguments):
        rows[0] += 1
        return compute(engine.model, *arguments)

    engine.model.row = counted
    engine.submit(request)
    tokens = run(engine)[request.request_id]
    del engine.model.row
    return tokens, rows[0]


def test_equal_blocks_behind_different_prefixes_are_not_shared(make_engine, reference):
    engine = make_engine(num_blocks=32)
    one, two, three, same = [1, 2, 3, 4], [9, 9, 9, 9], [7, 7, 7, 7], [5, 6, 7, 8]
    cases = [(one + three, 0), (two + same, 0), (one + same, 1), (two + three + same, 1), (same + same, 0), (same, 1)]
    for index, (prompt, num_shared) in enumerate(cases):
        tokens, rows = computed_by(engine, Request(str(index), prompt, 3))
        with checks("value"):
            assert tokens == reference(prompt, 3)
            assert rows == len(prompt) + 2 - 4 * num_shared


def test_fork_takes_a_block_only_when_it_writes(make_engine, reference):
    engine = make_engine(num_blocks=32)
    parent = Request("a", list(range(1, 19)), 6)
    engine.submit(parent)
    engine.step()
    before = engine.cache.num_free
    for seed in (1, 2, 3):
        assert engine.fork("a", f"a{seed}", seed=seed)
    with checks("resource.memory"):
        check_resource("blocks_taken", value=before - engine.cache.num_free, limit=0, unit="blocks", repeats=1)
    engine.step()
    # The last block is in part filled: all holders but one copy it, the four full ones stay shared.
    with checks("resource.memory"):
        check_resource("blocks_taken", value=before - engine.cache.num_free, limit=3, unit="blocks", repeats=1)
    with checks("state-lifecycle"):
        assert [engine.cache.allocator.ref_count(block) for block in parent.blocks] == [4, 4, 4, 4, 1]
    outputs = run(engine)
    start = reference(list(range(1, 19)), 1)
    with checks("value"):
        for seed in (1, 2, 3):
            assert outputs[f"a{seed}"] == reference(list(range(1, 19)) + start, 5, seed)[1:]
    with checks("state-lifecycle"):
        assert engine.cache.allocator.num_used == 0


def test_forked_request_outlives_the_one_it_came_from(make_engine, reference):
    engine = make_engine()
    prompt = [4, 4, 4, 4, 5, 5, 5, 5, 6, 6]
    engine.submit(Request("a", prompt, 9))
    engine.step()
    assert engine.fork("a", "b", seed=2)
    assert engine.abort("a")
    with checks("state-lifecycle"):
        assert engine.cache.allocator.num_used == 3
    outputs = run(engine)
    start = reference(prompt, 1)
    with checks("value"):
        assert list(outputs) == ["b"]
        assert outputs["b"] == reference(prompt + start, 8, 2)
    with checks("state-lifecycle"):
        assert engine.cache.allocator.num_used == 0
        assert engine.cache.num_free == 16
        with pytest.raises(ValueError):
            engine.cache.allocator.free(0)


def test_end_of_a_prefix_is_evicted_before_its_start(make_engine, reference):
    engine = make_engine(num_blocks=6)
    prompt = list(range(100, 120))
    computed_by(engine, Request("a", prompt, 1))
    # Takes the free block and two of the five cached ones.
    computed_by(engine, Request("b", [3] * 11, 2))
    tokens, rows = computed_by(engine, Request("c", prompt, 1))
    with checks("value"):
        assert tokens == reference(prompt, 1)
    with checks("resource.speed"):
        check_resource("rows_computed", value=rows, limit=8, unit="rows", repeats=1)


def test_prefix_that_was_used_last_is_kept(make_engine):
    engine = make_engine(num_blocks=7)
    first, second = [1] * 8, [2] * 8
    for request_id, prompt in (("a", first), ("b", second), ("c", first + [7])):
        computed_by(engine, Request(request_id, prompt, 1))
    # Takes the three free blocks and the two of `second`.
    computed_by(engine, Request("d", [3] * 17, 1))
    _, rows = computed_by(engine, Request("e", first + [8], 1))
    with checks("resource.speed"):
        check_resource("rows_computed", value=rows, limit=1, unit="rows", repeats=1)
    with checks("state-lifecycle"):
        assert engine.cache.match_prefix(second) == []


def test_generated_tokens_are_found_again(make_engine, reference):
    engine = make_engine()
    prompt = [31, 32, 33, 34, 35, 36]
    answer, _ = computed_by(engine, Request("a", prompt, 11))
    # 16 of the 17 tokens were written: four full blocks.
    turn = prompt + answer + [40, 41]
    tokens, rows = computed_by(engine, Request("b", turn, 1))
    with checks("value"):
        assert tokens == reference(turn, 1)
    with checks("resource.speed"):
        check_resource("rows_computed", value=rows, limit=3, unit="rows", repeats=1)


def test_rows_of_old_weights_are_not_used(make_engine, reference):
    engine = make_engine()
    prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    computed_by(engine, Request("a", prompt, 2))
    engine.submit(Request("b", prompt[:8] + [10], 4))
    engine.step()
    engine.reload(TinyModel(width=4, weights_seed=3))
    with checks("state-lifecycle"):
        assert engine.cache.match_prefix(prompt) == []
        assert engine.cache.num_free == 16
    run(engine)
    tokens, _ = computed_by(engine, Request("c", prompt, 3))
    with checks("state-lifecycle"):
        assert tokens == reference(prompt, 3, weights_seed=3)


def test_request_waits_when_its_prefix_fills_the_free_blocks(make_engine, reference):
    engine = make_engine(num_blocks=7)
    prefix = list(range(50, 66))
    computed_by(engine, Request("a", prefix, 1))
    # b takes the three other blocks; all that is free then is the prefix of c.
    engine.submit(Request("b", [7] * 9, 4))
    engine.step()
    engine.submit(Request("c", prefix + [9], 4))
    outputs = run(engine)
    with checks("condition"):
        assert outputs["b"] == [*reference([7] * 9, 4)[1:]]
        assert outputs["c"] == reference(prefix + [9], 4)
        assert engine.cache.allocator.num_used == 0


def test_running_requests_need_few_blocks(make_engine, reference):
    engine = make_engine(num_blocks=96)
    prefix = list(range(200, 232))
    outputs = {}
    peak = 0
    for step in range(14):
        if step < 2:
            for index in range(1) if step == 0 else range(1, 8):
                engine.submit(Request(str(index), prefix + [index], 10))
        for output in engine.step():
            outputs.setdefault(output.request_id, []).append(output.token)
        peak = max(peak, engine.cache.allocator.num_used)
    # Eight shared blocks, and three of its own for each request.
    with checks("resource.memory"):
        check_resource("blocks_used", value=peak, limit=34, unit="blocks", repeats=1)
    with checks("resource.speed"):
        check_resource("rows_computed", value=engine.stats.tokens_computed, limit=120, unit="rows", repeats=1)
    with checks("value"):
        assert all(outputs[str(index)] == reference(prefix + [index], 10) for index in range(8))


def test_index_of_prefixes_is_bounded_by_the_cache(make_engine):
    engine = make_engine(num_blocks=12)

    def serve(start, count):
        for index in range(start, start + count):
            engine.submit(Request(str(index), [index % 900, index // 900] * 16, 1))
            run(engine)

    serve(0, 20)
    with checks("state-lifecycle"):
        assert engine.cache.allocator.num_cached == 12
    tracemalloc.start()
    serve(100, 10)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    serve(200, 200)
    gc.collect()
    growth = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    with checks("resource.memory"):
        check_resource("memory_growth", value=max(growth, 0), limit=16000, unit="bytes", repeats=1)
