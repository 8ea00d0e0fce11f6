"""Requirements of the distributed buffer, on two ranks; on GPUs where the launch has them."""

import pytest
import torch
import torch.distributed as dist
from infradev_report import check_resource, checks

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental import DBuffer, Flat, Partial, Replicate

ROWS = 4096
COLUMNS = 64
ALLOWANCE_BYTES = 4096


def tensors_of(ranks, dtype=torch.float32, scale=1):
    """Three tensors of unlike row sizes; every element differs from every other."""
    shapes, start, made = [(5, 6), (3, 4), (7,)], 0, []
    for shape in shapes:
        count = torch.Size(shape).numel()
        values = torch.arange(start, start + count, device=ranks.device) * scale
        made.append(values.reshape(shape).to(dtype))
        start += count
    return made


def large(ranks, fill=1.0):
    return [torch.full((ROWS, COLUMNS), fill, device=ranks.device)]


def equal(buffer, expected):
    return all(torch.equal(buffer.get_local_tensor(i), tensor) for i, tensor in enumerate(expected))


@pytest.mark.parametrize("op", ["MAX", "MIN", "SUM", "AVG"])
def test_the_placement_decides_the_reduction(ranks, op):
    reduce_op = getattr(dist.ReduceOp, op)
    own = [torch.full((6, 4), 2.0 + ranks.rank, device=ranks.device), torch.full((3,), -1.0 - ranks.rank, device=ranks.device)]
    partial = DBuffer.distribute_tensors(own, ranks.mesh(), [Partial(reduce_op)])
    total = ranks.world * (ranks.world + 1) / 2
    top, low = 1.0 + ranks.world, -1.0 * ranks.world
    expected = {
        "MAX": (top, -1.0),
        "MIN": (2.0, low),
        "SUM": (total + ranks.world, -total),
        "AVG": ((total + ranks.world) / ranks.world, -total / ranks.world),
    }[op]
    reduced = [partial.allreduce(0), partial.reduce_scatter(0, Flat()).allgather(0)]
    with checks("value"):
        for buffer in reduced:
            for index, value in enumerate(expected):
                local = buffer.get_local_tensor(index)
                assert torch.equal(local, torch.full_like(local, value))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64], ids=["bf16", "f64", "i64"])
def test_elements_travel_in_their_own_dtype(ranks, dtype):
    scale = 2**40 if dtype is torch.int64 else 1
    tensors = tensors_of(ranks, dtype, scale)
    shards = DBuffer.distribute_tensors(tensors, ranks.mesh(), [Flat()])
    whole = shards.redistribute([Replicate()])
    with checks("shape-layout-dtype"):
        assert shards.dtype is whole.dtype is dtype
        assert all(whole.get_local_tensor(i).dtype is dtype for i in range(len(tensors)))
    with checks("value"):
        assert equal(whole, tensors)


def test_a_source_keeps_its_values(ranks):
    own = [torch.full((5, 6), 1.0 + ranks.rank, device=ranks.device), torch.full((4,), 3.0, device=ranks.device)]
    mesh = ranks.mesh()
    partial = DBuffer.distribute_tensors(own, mesh, [Partial()])
    shards = DBuffer.distribute_tensors(own, mesh, [Flat()])
    kept = [shards.get_local_tensor(i).clone() for i in range(len(own))]
    partial.allreduce(0)
    partial.reduce_scatter(0, Flat())
    shards.allgather(0)
    with checks("state-lifecycle"):
        assert equal(partial, own)
        assert equal(shards, kept)
        assert partial.placements == (Partial(),)
        assert shards.placements == (Flat(),)


def test_local_tensors_are_views_of_the_buffer(ranks):
    tensors = tensors_of(ranks)
    buffer = DBuffer.distribute_tensors(tensors, ranks.mesh(), [Flat()])
    for index in range(len(tensors)):
        buffer.get_local_tensor(index).mul_(2)
    views = [buffer.get_dtensor(index).to_local() for index in range(len(tensors))]
    doubled = buffer.allgather(0)
    for view in views:
        view.add_(1)
    increased = buffer.allgather(0)
    with checks("state-lifecycle"):
        assert equal(doubled, [tensor * 2 for tensor in tensors])
        assert equal(increased, [tensor * 2 + 1 for tensor in tensors])


def test_a_given_destination_is_filled_also_where_nothing_changes(ranks):
    tensors, mesh = tensors_of(ranks), ranks.mesh()
    source = DBuffer.distribute_tensors(tensors, mesh, [Replicate()])
    target = DBuffer.distribute_tensors([torch.zeros_like(t) for t in tensors], mesh, [Replicate()])
    with checks("state-lifecycle"):
        assert source.redistribute([Replicate()]) is source
        assert source.redistribute([Replicate()], out=target) is target
        assert equal(target, tensors)
        source.get_local_tensor(0).zero_()
        assert equal(target, tensors)


def test_a_destination_that_does_not_fit_is_refused_unchanged(ranks):
    tensors, mesh = tensors_of(ranks), ranks.mesh()
    source = DBuffer.distribute_tensors(tensors, mesh, [Flat()])
    others = [
        DBuffer.distribute_tensors([torch.zeros(5, 6, device=ranks.device)], mesh, [Replicate()]),
        DBuffer.distribute_tensors([torch.zeros_like(t) for t in tensors], mesh, [Flat()]),
        DBuffer.distribute_tensors([torch.zeros_like(t, dtype=torch.float64) for t in tensors], mesh, [Replicate()]),
    ]
    for other in others:
        other.local_buffer.zero_()
    with checks("state-lifecycle"):
        for other in others:
            with pytest.raises(ValueError):
                source.redistribute([Replicate()], out=other)
            assert not other.local_buffer.any()


def test_a_shard_is_cut_locally(ranks, meter):
    whole = DBuffer.distribute_tensors(large(ranks), ranks.mesh(), [Replicate()])
    with meter:
        shards = whole.redistribute([Flat()])
    gathered = shards.allgather(0)
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=meter.sent_bytes, limit=0, unit="bytes")
    with checks("resource.memory"):
        check_resource("bytes_allocated", value=meter.allocated_bytes, limit=ALLOWANCE_BYTES, unit="bytes")
    with checks("value"):
        assert equal(gathered, large(ranks))


def test_a_reduce_scatter_sends_each_part_to_its_owner_only(ranks, meter):
    partial = DBuffer.distribute_tensors(large(ranks), ranks.mesh(), [Partial()])
    share = ROWS * COLUMNS * 4 // ranks.world
    with meter:
        shards = partial.redistribute([Flat()])
    gathered = shards.allgather(0)
    with checks("value"):
        assert equal(gathered, large(ranks, float(ranks.world)))
    with checks("resource.traffic"):
        limit = 1.05 * share * (ranks.world - 1) + ALLOWANCE_BYTES
        check_resource("bytes_sent", value=meter.sent_bytes, limit=limit, unit="bytes")


def test_a_gather_sends_shards_and_fills_the_destination_in_place(ranks, meter):
    mesh = ranks.mesh()
    shards = DBuffer.distribute_tensors(large(ranks), mesh, [Flat()])
    target = DBuffer(mesh, [Replicate()], [(ROWS, COLUMNS)], torch.float32, ranks.device)
    share = ROWS * COLUMNS * 4 // ranks.world
    with meter:
        shards.redistribute([Replicate()], out=target)
    with checks("value"):
        assert equal(target, large(ranks))
    with checks("resource.traffic"):
        limit = 1.05 * share * (ranks.world - 1) + ALLOWANCE_BYTES
        check_resource("bytes_sent", value=meter.sent_bytes, limit=limit, unit="bytes")
    with checks("resource.memory"):
        check_resource("bytes_allocated", value=meter.allocated_bytes, limit=ALLOWANCE_BYTES, unit="bytes")


def test_distributing_allocates_no_more_than_the_shard(ranks, meter):
    tensors, mesh = large(ranks, 3.0), ranks.mesh()
    with meter:
        shards = DBuffer.distribute_tensors(tensors, mesh, [Flat()])
    gathered = shards.allgather(0)
    share = ROWS * COLUMNS * 4 // ranks.world
    with checks("resource.memory"):
        check_resource("bytes_allocated", value=meter.allocated_bytes, limit=1.05 * share + ALLOWANCE_BYTES, unit="bytes")
    with checks("value"):
        assert equal(gathered, tensors)
