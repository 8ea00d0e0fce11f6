"""Aborting requests wherever they are: preempted, in a running batch, on their way between ranks."""

import pytest

from tinyfleet.serve import BlockAllocator, Engine, PagedKVCache, Request, Router, TinyModel


def make_engine(num_blocks=16):
    model = TinyModel(width=4)
    return Engine(model, PagedKVCache(num_blocks, 4, model.width))


def run(engine, max_steps=200):
    outputs = {}
    for _ in range(max_steps):
        for step_output in engine.step():
            outputs.setdefault(step_output.request_id, []).append(step_output.token)
        if not engine.num_requests:
            return outputs
    raise AssertionError(f"{engine.num_requests} requests are left after {max_steps} steps")


def test_block_that_is_freed_twice_is_refused():
    allocator = BlockAllocator(4)
    block = allocator.allocate()
    allocator.free(block)
    with pytest.raises(ValueError, match=str(block)):
        allocator.free(block)
    assert allocator.num_free == 4


def test_abort_of_a_preempted_request():
    engine = make_engine(num_blocks=4)
    engine.submit(Request("a", [1, 2, 3, 4, 5, 6, 7], 6))
    engine.submit(Request("b", [9, 8, 7, 6, 5, 4, 3], 6))
    while not engine.scheduler.preempted:
        engine.step()
    assert [request.request_id for request in engine.scheduler.preempted] == ["b"]
    assert engine.abort("b")
    assert not engine.abort("b")
    assert "b" not in run(engine)
    assert engine.cache.num_free == 4


def test_abort_while_the_batch_runs():
    engine = make_engine()
    engine.submit(Request("a", [1, 2, 3], 2))
    engine.submit(Request("b", [4, 5, 6], 2))
    engine.step()
    engine.launch()
    assert engine.abort("a")
    assert [output.request_id for output in engine.collect()] == ["b"]
    assert (engine.num_requests, engine.cache.num_free) == (0, 16)


def test_abort_on_the_way_between_ranks(group):
    router = Router(group, make_engine())
    if group.rank == 0:
        router.submit("a", [3, 1, 4, 1, 5, 9], 20)
    router.step()
    router.step()
    if group.rank == 0:
        assert router.migrate("a", 1)
    router.step()
    if group.rank == 0:
        assert router.abort("a")
    router.run_until_idle()
    assert (router.engine.num_requests, router.engine.cache.num_free) == (0, 16)
    if group.rank == 0:
        assert [router.load(rank) for rank in range(group.world_size)] == [0] * group.world_size


def test_aborted_requests_make_room_for_others(group):
    router = Router(group, make_engine(), max_inflight=1)
    ids = [f"r{index}" for index in range(2 * group.world_size + 1)]
    if group.rank == 0:
        for index, request_id in enumerate(ids):
            router.submit(request_id, [index + 1, 2], 3)
    router.step()
    if group.rank == 0:
        for request_id in ids[:-1]:
            assert router.abort(request_id)
    router.run_until_idle(max_steps=30)
    assert router.engine.cache.num_free == 16
    if group.rank == 0:
        assert router.status(ids[-1]) == "finished"
        assert all(router.status(request_id) is None for request_id in ids[:-1])


def test_finished_request_cannot_be_aborted(group):
    router = Router(group, make_engine())
    if group.rank == 0:
        router.submit("a", [3, 1, 4], 2)
    router.run_until_idle()
    if group.rank == 0:
        assert not router.abort("a")
        assert len(router.take("a")) == 2
