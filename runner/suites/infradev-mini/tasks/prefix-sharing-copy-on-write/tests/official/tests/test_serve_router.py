"""Router over the ranks of a group."""

import pytest

from tinyfleet.serve import Engine, PagedKVCache, Router, TinyModel


def make_router(group, num_blocks=32, max_inflight=16):
    model = TinyModel(width=4)
    return Router(group, Engine(model, PagedKVCache(num_blocks, 4, model.width)), max_inflight)


def reference(prompt, max_new_tokens, seed=0):
    """Generate without paging, batching or ranks."""
    model = TinyModel(width=4)
    rows, output = [], []
    for position, token in enumerate(prompt):
        rows.append(model.row(token, position, rows[-1] if rows else None))
    while True:
        output.append(model.next_token(rows.__getitem__, len(rows), seed))
        if len(output) == max_new_tokens:
            return output
        rows.append(model.row(output[-1], len(rows), rows[-1]))


def test_requests_spread_over_ranks_and_finish(group):
    router = make_router(group)
    prompts = {f"r{index}": [index + 1, index + 2, 50] for index in range(3 * group.world_size)}
    if group.rank == 0:
        for request_id, prompt in prompts.items():
            router.submit(request_id, prompt, 5)
    router.step()
    assert router.engine.num_requests == 3
    router.run_until_idle()
    assert router.engine.cache.num_free == 32
    if group.rank == 0:
        for request_id, prompt in prompts.items():
            assert router.status(request_id) == "finished"
            assert router.take(request_id) == reference(prompt, 5)
            assert router.status(request_id) is None
        assert [router.load(rank) for rank in range(group.world_size)] == [0] * group.world_size


def test_max_inflight_queues_the_rest(group):
    router = make_router(group, max_inflight=1)
    if group.rank == 0:
        for index in range(group.world_size + 1):
            router.submit(f"r{index}", [index + 1], 3)
    router.step()
    assert router.engine.num_requests == 1
    if group.rank == 0:
        assert router.status(f"r{group.world_size}") == "queued"
    router.run_until_idle()
    if group.rank == 0:
        assert router.take(f"r{group.world_size}") == reference([group.world_size + 1], 3)


def test_migrated_request_keeps_its_rows(group):
    router = make_router(group)
    destination = group.world_size - 1
    if group.rank == 0:
        router.submit("a", list(range(1, 12)), 8)
    router.step()
    router.step()
    if group.rank == 0:
        assert router.rank_of("a") == 0
        assert router.migrate("a", destination) == (destination != 0)
        assert not router.migrate("a", 0)
    router.run_until_idle()
    computed = router.engine.stats.tokens_computed
    if group.rank == 0:
        assert router.take("a") == reference(list(range(1, 12)), 8)
        assert router.load(destination) == 0
        assert computed == (12 if destination else 18)
    elif group.rank == destination:
        assert computed == 6


def test_abort_of_a_running_request_leaves_the_others(group):
    router = make_router(group)
    if group.rank == 0:
        for index in range(2 * group.world_size):
            router.submit(f"r{index}", [index + 1, 7, 7], 6)
    router.step()
    router.step()
    if group.rank == 0:
        assert router.abort("r1")
        assert not router.abort("r1")
        assert router.status("r1") is None
    router.run_until_idle()
    assert router.engine.cache.num_free == 32
    if group.rank == 0:
        assert router.take("r0") == reference([1, 7, 7], 6)


def test_front_operations_are_refused_elsewhere(group):
    router = make_router(group)
    if group.rank != 0:
        with pytest.raises(RuntimeError, match="rank 0"):
            router.submit("a", [1], 1)
