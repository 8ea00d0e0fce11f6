"""Requests that share the blocks of a common prefix."""

from tinyfleet.serve import Engine, PagedKVCache, Request, Router, TinyModel

PREFIX = [11, 12, 13, 14, 21, 22, 23, 24]


def make_engine(num_blocks=32):
    model = TinyModel(width=4)
    return Engine(model, PagedKVCache(num_blocks, 4, model.width))


def reference(prompt, max_new_tokens, seed=0):
    """Generate without paging, batching or sharing."""
    model = TinyModel(width=4)
    rows, output = [], []
    for position, token in enumerate(prompt):
        rows.append(model.row(token, position, rows[-1] if rows else None))
    while True:
        output.append(model.next_token(rows.__getitem__, len(rows), seed))
        if len(output) == max_new_tokens:
            return output
        rows.append(model.row(output[-1], len(rows), rows[-1]))


def run(engine, max_steps=200):
    outputs = {}
    for _ in range(max_steps):
        for step_output in engine.step():
            outputs.setdefault(step_output.request_id, []).append(step_output.token)
        if not engine.num_requests:
            return outputs
    raise AssertionError(f"{engine.num_requests} requests are left after {max_steps} steps")


def test_second_request_computes_only_what_differs():
    engine = make_engine()
    engine.submit(Request("a", PREFIX + [1, 2], 3))
    run(engine)
    assert engine.cache.allocator.num_used == 0
    computed = engine.stats.tokens_computed
    engine.submit(Request("b", PREFIX + [3, 4, 5], 1))
    assert run(engine) == {"b": reference(PREFIX + [3, 4, 5], 1)}
    assert engine.stats.tokens_computed - computed == 3


def test_running_requests_share_full_blocks():
    engine = make_engine()
    first = Request("a", PREFIX + [1], 6)
    second = Request("b", PREFIX + [2], 6)
    engine.submit(first)
    engine.step()
    engine.submit(second)
    engine.step()
    assert first.blocks[:2] == second.blocks[:2]
    assert first.blocks[2] != second.blocks[2]
    assert [engine.cache.allocator.ref_count(block) for block in second.blocks] == [2, 2, 1]
    assert engine.cache.allocator.num_used == 4
    run(engine)
    assert engine.cache.allocator.num_used == 0
    assert engine.cache.num_free == 32


def test_match_prefix_finds_full_blocks():
    engine = make_engine()
    engine.submit(Request("a", PREFIX, 1))
    run(engine)
    assert len(engine.cache.match_prefix(PREFIX + [9])) == 2
    assert len(engine.cache.match_prefix(PREFIX[:7])) == 1
    assert engine.cache.match_prefix([9] + PREFIX) == []


def test_fork_continues_with_another_seed():
    engine = make_engine()
    engine.submit(Request("a", PREFIX + [1], 6))
    engine.step()
    assert engine.fork("a", "b", seed=5)
    assert not engine.fork("unknown", "c")
    outputs = run(engine)
    assert outputs["a"] == reference(PREFIX + [1], 6)[1:]
    first = reference(PREFIX + [1], 1)
    assert outputs["b"] == reference(PREFIX + [1] + first, 5, seed=5)
    assert engine.cache.allocator.num_used == 0


def test_cached_blocks_make_room():
    engine = make_engine(num_blocks=4)
    for token in range(5):
        prompt = [token] * 9
        engine.submit(Request(str(token), prompt, 2))
        assert run(engine) == {str(token): reference(prompt, 2)}
    assert engine.cache.num_free == 4
    assert engine.cache.allocator.num_cached > 0


def test_requests_go_where_their_prefix_is(group):
    router = Router(group, make_engine())
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"a{index}", [index + 1] * 9, 2)
    router.run_until_idle()
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"b{index}", [group.world_size - index] * 9 + [7], 2)
    router.run_until_idle()
    if group.rank == 0:
        for index in range(group.world_size):
            assert router.rank_of(f"b{index}") == group.world_size - 1 - index
            assert router.take(f"b{index}") == reference([group.world_size - index] * 9 + [7], 2)


def test_moved_request_gives_the_same_tokens(group):
    router = Router(group, make_engine())
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"a{index}", PREFIX + [index], 8)
    router.step()
    router.step()
    if group.rank == 0:
        assert router.migrate("a0", 1)
    router.run_until_idle()
    assert router.engine.cache.allocator.num_used == 0
    if group.rank == 0:
        for index in range(group.world_size):
            assert router.take(f"a{index}") == reference(PREFIX + [index], 8)
