"""Cache, scheduler and engine of one rank."""

from array import array

import pytest

from tinyfleet.serve import BlockAllocator, Engine, OutOfBlocks, PagedKVCache, Request, TinyModel


def make_engine(num_blocks=16, block_size=4, max_running=8):
    model = TinyModel(width=4)
    return Engine(model, PagedKVCache(num_blocks, block_size, model.width), max_running)


def reference(prompt, max_new_tokens, seed=0):
    """Generate without paging, batching or preemption."""
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


def test_allocator_hands_out_every_block_once():
    allocator = BlockAllocator(3)
    assert sorted(allocator.allocate() for _ in range(3)) == [0, 1, 2]
    with pytest.raises(OutOfBlocks):
        allocator.allocate()
    allocator.free(1)
    assert (allocator.num_free, allocator.num_used) == (1, 2)
    assert allocator.allocate() == 1


def test_cache_keeps_rows_across_blocks():
    cache = PagedKVCache(num_blocks=4, block_size=2, width=3)
    blocks = []
    cache.reserve(blocks, 5)
    assert len(blocks) == 3
    for position in range(5):
        cache.write(blocks, position, [position, position + 0.5, -position])
    assert cache.read(blocks, 3) == array("d", [3.0, 3.5, -3.0])
    copied = cache.export_rows(blocks, 1, 5)
    other = []
    cache.free(blocks)
    cache.reserve(other, 4)
    cache.import_rows(other, 0, copied)
    assert cache.read(other, 2) == array("d", [3.0, 3.5, -3.0])


@pytest.mark.parametrize("seed", [0, 3])
def test_engine_matches_the_unpaged_model(seed):
    engine = make_engine()
    engine.submit(Request("a", [5, 6, 7, 8, 9], 6, seed))
    assert run(engine) == {"a": reference([5, 6, 7, 8, 9], 6, seed)}
    assert engine.cache.num_free == 16


def test_preempted_requests_give_the_same_tokens():
    engine = make_engine(num_blocks=6)
    prompts = {"a": [1, 2, 3, 4, 5, 6, 7], "b": [9, 8, 7, 6, 5, 4, 3], "c": [11, 12]}
    for request_id, prompt in prompts.items():
        engine.submit(Request(request_id, prompt, 8))
    outputs = run(engine)
    assert engine.scheduler.num_preemptions > 0
    assert outputs == {request_id: reference(prompt, 8) for request_id, prompt in prompts.items()}
    assert engine.cache.num_free == 6


def test_max_running_bounds_the_batch():
    engine = make_engine(max_running=2)
    for index in range(5):
        engine.submit(Request(str(index), [index + 1], 3))
    assert len(engine.step()) == 2
    assert len(run(engine)) == 5


def test_request_that_can_never_fit_is_refused():
    engine = make_engine(num_blocks=2, block_size=4)
    with pytest.raises(ValueError, match="needs 3 blocks"):
        engine.submit(Request("a", [1] * 6, 3))
    assert engine.num_requests == 0


def test_abort_of_a_waiting_and_of_a_running_request():
    engine = make_engine(max_running=1)
    engine.submit(Request("a", [1, 2, 3], 9))
    engine.submit(Request("b", [4, 5, 6], 9))
    engine.step()
    assert engine.abort("b") and engine.abort("a")
    assert not engine.abort("a")
    assert (engine.num_requests, engine.cache.num_free) == (0, 16)


def test_detached_request_goes_on_elsewhere():
    source, destination = make_engine(), make_engine()
    source.submit(Request("a", [3, 1, 4, 1, 5], 7))
    first = [source.step()[0].token for _ in range(3)]
    request, rows = source.detach("a")
    assert source.cache.num_free == 16
    destination.attach(request, rows)
    assert first + run(destination)["a"] == reference([3, 1, 4, 1, 5], 7)
    assert destination.stats.tokens_computed == 4


def test_reload_computes_running_requests_again():
    engine = make_engine()
    engine.submit(Request("a", [3, 1, 4], 4))
    engine.step()
    engine.reload(TinyModel(width=4, weights_seed=1))
    engine.step()
    assert engine.stats.tokens_computed == 3 + 4
