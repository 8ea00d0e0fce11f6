"""Aborts on one rank: blocks, rows and work."""

import pytest
from infradev_report import check_resource, checks

from tinyfleet.serve import BlockAllocator, Request


def outputs_of(engine, request_id, max_steps=100):
    """Step until the engine is empty and return the tokens of one request."""
    tokens = []
    for _ in range(max_steps):
        tokens += [output.token for output in engine.step() if output.request_id == request_id]
        if not engine.num_requests:
            return tokens
    raise AssertionError(f"{engine.num_requests} requests are left after {max_steps} steps")


def moved(make_engine, prompt, max_new_tokens, steps=1):
    """A request that ran some steps on another engine, as it comes to this one: request, rows, tokens so far."""
    source = make_engine()
    source.submit(Request("moved", prompt, max_new_tokens))
    for _ in range(steps):
        source.step()
    request, rows = source.detach("moved")
    return request, rows, list(request.output)


def test_blocks_of_the_running_batch_stay_until_collect(make_engine):
    engine = make_engine(num_blocks=8)
    engine.submit(Request("a", [1, 2, 3, 4, 5, 6, 7, 8], 12))
    engine.step()
    engine.launch()
    before = engine.cache.num_free
    assert engine.abort("a")
    with checks("state-lifecycle"):
        assert engine.num_requests == 0
        assert engine.cache.num_free == before
        assert not engine.abort("a")
    assert engine.collect() == []
    with checks("state-lifecycle"):
        assert engine.cache.num_free == 8


def test_arrival_beside_an_aborted_request_keeps_its_rows(make_engine, reference):
    engine = make_engine(num_blocks=8)
    engine.submit(Request("a", [1, 2, 3, 4, 5, 6, 7, 8], 12))
    engine.step()
    request, rows, tokens = moved(make_engine, [50, 51, 52, 53, 54, 55, 56, 57], 9)
    engine.launch()
    engine.abort("a")
    engine.attach(request, rows)
    engine.collect()
    tokens += outputs_of(engine, "moved")
    with checks("value"):
        assert tokens == reference([50, 51, 52, 53, 54, 55, 56, 57], 9)
    with checks("state-lifecycle"):
        assert engine.cache.num_free == 8


def test_arrival_without_room_takes_no_blocks(make_engine, reference):
    engine = make_engine(num_blocks=5)
    engine.submit(Request("a", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 4))
    engine.step()
    request, rows, tokens = moved(make_engine, [60, 61, 62, 63, 64, 65, 66, 67, 68, 69], 4)
    free = engine.cache.num_free
    engine.attach(request, rows)
    with checks("condition"):
        assert engine.cache.num_free == free == 2
        assert engine.num_requests == 2
        assert list(request.blocks) == []
    tokens += outputs_of(engine, "moved")
    with checks("value"):
        assert tokens == reference([60, 61, 62, 63, 64, 65, 66, 67, 68, 69], 4)
    with checks("condition"):
        assert engine.cache.num_free == 5


def test_aborted_requests_are_not_computed(make_engine):
    engine = make_engine(num_blocks=12)
    engine.submit(Request("a", list(range(20)), 8))
    engine.submit(Request("b", list(range(30, 50)), 8))
    while not engine.scheduler.preempted:
        engine.step()
    engine.submit(Request("c", list(range(60, 80)), 8))
    rows = 0
    compute = engine.model.row

    def counted(*arguments):
        nonlocal rows
        rows += 1
        return compute(*arguments)

    engine.model.row = counted
    engine.launch()
    for request_id in ("a", "b", "c"):
        assert engine.abort(request_id)
    left = engine.num_requests
    engine.collect()
    for _ in range(10):
        engine.step()
    with checks("resource.speed"):
        check_resource("rows_computed", value=rows, limit=0, unit="rows", repeats=1)
    with checks("state-lifecycle"):
        assert left == 0
        assert engine.cache.num_free == 12


@pytest.mark.parametrize("block", [1, 4, -1], ids=["free", "too-large", "negative"])
def test_refused_free_changes_nothing(block):
    allocator = BlockAllocator(4)
    held = [allocator.allocate() for _ in range(4)]
    allocator.free(1)
    with checks("state-lifecycle"):
        with pytest.raises(ValueError):
            allocator.free(block)
        assert (allocator.num_free, allocator.num_used) == (1, 3)
        assert allocator.allocate() == 1
        assert sorted(held) == [0, 1, 2, 3]
