"""Requirements on bucketed reduction that ordinary tests leave open. Run on four ranks."""

import socket
import tracemalloc
from math import ceil, fsum, sqrt

import pytest
from infradev_report import check_resource, checks

from tinyfleet.tensor import Tensor
from tinyfleet.train import MLP, SGD, Adam, FlatLayout, Regression, ShardedOptimizer, Trainer
from tinyfleet.train.reduction import GradientReducer

KIB = 1024
HEADER_BYTES = 128  # room for one message's frame


def make_gradients(group, sizes, dtype="f8"):
    """A layout, and gradients whose sums need every bit and differ from rank to rank."""
    model = MLP(sizes, dtype=dtype)
    seed = group.rank + 1
    for k, gradient in enumerate(model.gradients.values()):
        values = [((i + 7 * k) % 97 + 1) * 0.1 * seed - seed * seed for i in range(gradient.numel)]
        gradient.copy_(Tensor.of(values).view(gradient.shape))
    return FlatLayout({name: g.shape for name, g in model.gradients.items()}), model.gradients


def expected_shard(group, layout, gradients):
    """This rank's shard after an all_reduce of every gradient."""
    copies = {name: group.all_reduce(gradient.clone()) for name, gradient in gradients.items()}
    start, stop = layout.shard_bounds(group.rank, group.world_size)
    return layout.gather(copies, start, stop, Tensor.zeros(stop - start, next(iter(copies.values())).dtype))


def elements_per_rank(bucket_bytes, itemsize, ranks):
    return max(1, bucket_bytes // (itemsize * ranks))


class Wire:
    """Counts bytes on the sockets of this process, whatever the group's own statistics say."""

    def __init__(self, monkeypatch):
        self.sent = 0
        original = socket.socket.send

        def send(sock, data, *flags):
            count = original(sock, data, *flags)
            self.sent += count
            return count

        monkeypatch.setattr(socket.socket, "send", send)

    def during(self, work):
        self.sent = 0
        work()
        return self.sent


@pytest.mark.parametrize("sizes, bucket_bytes", [((3, 6, 3), 96), ((5, 1), 1), ((5, 3), 64), ((6, 5, 5), 1000)])
def test_sizes_that_divide_nothing(group, sizes, bucket_bytes):
    layout, gradients = make_gradients(group, sizes)
    assert layout.numel % group.world_size, "the model must leave a short last shard"
    expected = expected_shard(group, layout, gradients)
    with checks("condition"):
        shard = GradientReducer(layout, group, bucket_bytes).reduce(gradients)
        assert shard.shape == expected.shape
        assert shard.tolist() == expected.tolist()


@pytest.mark.parametrize("bucket_bytes", [1, 65536])
def test_ranks_without_a_shard_take_part(group, bucket_bytes):
    layout, gradients = make_gradients(group, (1, 1))
    expected = expected_shard(group, layout, gradients)
    with checks("condition"):
        shard = GradientReducer(layout, group, bucket_bytes).reduce(gradients)
        assert shard.tolist() == expected.tolist()
        trainer = Trainer(MLP([1, 1]), Adam(lr=0.01), Regression(8, 1, 1), group, batch_size=4, max_norm=0.1)
        losses = group.all_gather([trainer.train_step() for _ in range(2)])
        assert losses == [losses[0]] * group.world_size


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_fewer_ranks(group, ranks):
    members = group.subgroup(range(ranks))
    if members is not None:
        layout, gradients = make_gradients(members, (4, 5, 3))
        expected = expected_shard(members, layout, gradients)
        with checks("condition"):
            shard = GradientReducer(layout, members, bucket_bytes=56).reduce(gradients)
            assert shard.tolist() == expected.tolist()
    group.barrier()


def test_f4_stays_f4(group, monkeypatch):
    layout, gradients = make_gradients(group, (6, 9, 3), "f4")
    expected = expected_shard(group, layout, gradients)
    wire, reducer = Wire(monkeypatch), GradientReducer(layout, group, bucket_bytes=65536)
    shards = []
    sent = wire.during(lambda: shards.append(reducer.reduce(gradients)))
    peers = group.world_size - 1
    with checks("shape-layout-dtype"):
        assert shards[0].dtype == "f4"
        assert shards[0].shape == expected.shape
        assert shards[0].tolist() == expected.tolist()
        assert sent <= peers * (4 * layout.shard_size(group.world_size) + HEADER_BYTES)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_norm_is_that_of_the_whole_gradient(group, dtype):
    data = Regression(30, 5, 3)
    free = Trainer(MLP([5, 9, 3], seed=4, dtype=dtype), SGD(lr=1.0, momentum=0.0), data, group, batch_size=8)
    clipped = Trainer(
        MLP([5, 9, 3], seed=4, dtype=dtype), SGD(lr=1.0, momentum=0.0), data, group, batch_size=8, max_norm=0.05
    )
    free.train_step()
    summed = [group.all_reduce(gradient.clone()) for gradient in free.model.gradients.values()]
    norm = sqrt(fsum(g * g for gradient in summed for g in gradient.elements()))
    shard = free.reduce_gradients()
    expected = expected_shard(group, free.layout, free.model.gradients)
    before = clipped.optimizer.master.clone()
    clipped.train_step()
    moved = group.all_gather(fsum((a - b) ** 2 for a, b in zip(clipped.optimizer.master.elements(), before.elements())))
    with checks("value"):
        assert norm > 0.05
        assert shard.tolist() == expected.tolist()
        assert free.gradient_norm == pytest.approx(norm, rel=1e-12)
        assert clipped.gradient_norm == pytest.approx(norm, rel=1e-12)
        assert group.all_gather(clipped.gradient_norm) == [clipped.gradient_norm] * group.world_size
        assert sqrt(fsum(moved)) == pytest.approx(0.05, rel=1e-6)


def test_result_belongs_to_the_caller(group):
    layout, gradients = make_gradients(group, (4, 6, 2))
    before = {name: gradient.tolist() for name, gradient in gradients.items()}
    reducer = GradientReducer(layout, group, bucket_bytes=128)
    first = reducer.reduce(gradients)
    values = first.tolist()
    doubled = {name: gradient.clone().mul_(2) for name, gradient in gradients.items()}
    second = reducer.reduce(doubled)
    with checks("state-lifecycle"):
        assert {name: gradient.tolist() for name, gradient in gradients.items()} == before
        assert first.tolist() == values
        assert second.tolist() == [2 * value for value in values]
        second.fill_(0)
        assert reducer.reduce(gradients).tolist() == values


def test_a_refused_shard_changes_nothing(group):
    model = MLP([3, 5, 2])
    layout = FlatLayout({name: p.shape for name, p in model.parameters.items()})
    optimizer = ShardedOptimizer(Adam(lr=0.5), layout, model.parameters, group)
    before = optimizer.master.tolist(), {name: p.tolist() for name, p in model.parameters.items()}
    with checks("state-lifecycle"):
        for numel in (optimizer.master.numel - 1, optimizer.master.numel + 1):
            with pytest.raises(ValueError):
                optimizer.step(model.parameters, Tensor.full(numel, 1.0))
        assert optimizer.steps == 0
        assert (optimizer.master.tolist(), {name: p.tolist() for name, p in model.parameters.items()}) == before
        assert all(slot.tolist() == [0.0] * slot.numel for slot in optimizer.slots.values())


@pytest.mark.parametrize("bucket_bytes", [256, 1000, 1 << 20])
def test_bytes_and_calls_of_a_reduction(group, monkeypatch, bucket_bytes):
    layout, gradients = make_gradients(group, (21, 30, 7))
    reducer = GradientReducer(layout, group, bucket_bytes)
    wire = Wire(monkeypatch)
    group.stats.reset()
    sent = wire.during(lambda: reducer.reduce(gradients))
    calls = sum(group.stats.calls(name) for name in ("all_reduce", "reduce_scatter", "all_gather", "broadcast"))
    ranks, longest = group.world_size, layout.shard_size(group.world_size)
    allowed_calls = ceil(longest / elements_per_rank(bucket_bytes, 8, ranks))
    limit = (ranks - 1) * (8 * longest + HEADER_BYTES * allowed_calls)
    with checks("resource.traffic"):
        assert group.stats.total_sent() <= (ranks - 1) * 8 * longest
        check_resource("collective_calls", value=calls, limit=allowed_calls, unit="calls", repeats=1)
        check_resource("bytes_sent", value=sent, limit=limit, unit="bytes", repeats=1)


def test_bytes_of_a_step_with_accumulation(group, monkeypatch):
    trainer = Trainer(
        MLP([21, 30, 7]), SGD(lr=0.01), Regression(16, 21, 7), group, batch_size=4, accumulation=4, max_norm=1.0
    )
    trainer.train_step()
    wire, ranks = Wire(monkeypatch), group.world_size
    sent = wire.during(trainer.train_step)
    reduced = (ranks - 1) * 8 * trainer.layout.shard_size(ranks)
    published = (ranks - 1) * 8 * trainer.optimizer.master.numel
    with checks("resource.traffic"):
        limit = reduced + published + 256 + 16 * (ranks - 1) * HEADER_BYTES
        check_resource("bytes_sent_step", value=sent, limit=limit, unit="bytes", repeats=1)


def test_memory_is_bounded_by_shard_and_bucket(group):
    layout, gradients = make_gradients(group, (400, 399, 200), "f4")
    bucket_bytes = 32 * KIB
    reducer = GradientReducer(layout, group, bucket_bytes)
    group.barrier()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        shard = reducer.reduce(gradients)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    group.barrier()
    with checks("resource.memory"):
        limit = shard.nbytes + 6 * bucket_bytes + 64 * KIB
        check_resource("peak_memory", value=peak, limit=limit, unit="bytes", repeats=1)
