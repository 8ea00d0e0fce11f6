"""Requirements of the distributed buffer on four CPU ranks: meshes of two dimensions and shapes that do not divide."""

import pytest
import torch
from infradev_report import checks

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental import DBuffer, Flat, Partial, Replicate

UNEVEN = {
    "fewer-rows-than-ranks": [(2, 3), (1, 5)],
    "one-row": [(1, 7), (5,)],
    "odd-rows": [(7, 3), (5, 2), (3,)],
    "three-dimensions": [(3, 2, 5), (4, 3)],
}


def numbered(shapes):
    """Tensors whose elements all differ."""
    made, start = [], 1
    for shape in shapes:
        count = torch.Size(shape).numel()
        made.append(torch.arange(start, start + count, dtype=torch.float32).reshape(shape))
        start += count
    return made


def equal(buffer, expected):
    return all(torch.equal(buffer.get_local_tensor(i), tensor) for i, tensor in enumerate(expected))


def by_rows(ranks, buffer, index, order):
    """The rows of one tensor that the ranks hold, put together in the order of the shards."""
    parts = ranks.everywhere(buffer.get_local_tensor(index))
    return torch.cat([parts[rank] for rank in order])


@pytest.mark.parametrize("shapes", UNEVEN)
def test_every_row_is_whole_on_one_rank(ranks, shapes):
    tensors = numbered(UNEVEN[shapes])
    shards = DBuffer.distribute_tensors(tensors, ranks.mesh(), [Flat()])
    joined = [by_rows(ranks, shards, index, range(ranks.world)) for index in range(len(tensors))]
    whole = shards.redistribute([Replicate()])
    with checks("shape-layout-dtype"):
        for index, tensor in enumerate(tensors):
            local = shards.get_local_tensor(index)
            assert local.shape[1:] == tensor.shape[1:]
            assert local.is_contiguous()
            assert shards.get_dtensor(index).shape == tensor.shape
        assert shards.local_buffer.numel() * ranks.world == shards.layout.size
    with checks("value"):
        assert all(torch.equal(rows, tensor) for rows, tensor in zip(joined, tensors, strict=True))
        assert equal(whole, tensors)


def test_two_flat_axes_cut_the_inner_axis_first(ranks):
    tensors = numbered([(8, 3), (5,)])
    mesh = ranks.mesh(2, 2)
    shards = DBuffer.distribute_tensors(tensors, mesh, [Flat(), Flat()])
    outer, inner = mesh.get_local_rank(0), mesh.get_local_rank(1)
    share = shards.layout.size // 4
    # Shards in the order of their offsets: rank = 2 * outer + inner.
    joined = [by_rows(ranks, shards, index, [0, 2, 1, 3]) for index in range(len(tensors))]
    whole = shards.redistribute([Replicate(), Flat()]).redistribute([Replicate(), Replicate()])
    with checks("condition"):
        assert shards.local_buffer.numel() == share
        assert shards.offset == (2 * inner + outer) * share
    with checks("value"):
        assert all(torch.equal(rows, tensor) for rows, tensor in zip(joined, tensors, strict=True))
        assert equal(whole, tensors)


def test_an_axis_reduces_among_its_own_ranks_only(ranks):
    mesh = ranks.mesh(2, 2)
    outer, inner = mesh.get_local_rank(0), mesh.get_local_rank(1)
    own = [torch.full((8, 3), 1.0 + 10 * outer + 100 * inner)]
    partial = DBuffer.distribute_tensors(own, mesh, [Partial(), Replicate()])
    reduced = partial.redistribute([Replicate(), Replicate()])
    with checks("condition"):
        assert equal(reduced, [torch.full((8, 3), 12.0 + 200 * inner)])
        assert equal(partial, own)


def test_reduced_shards_meet_their_rows(ranks):
    rows = torch.arange(24, dtype=torch.float32).reshape(8, 3)
    mesh = ranks.mesh(2, 2)
    outer = mesh.get_local_rank(0)
    partial = DBuffer.distribute_tensors([rows * (1 + outer)], mesh, [Partial(), Flat()])
    shards = partial.redistribute([Flat(), Flat()])
    whole = shards.redistribute([Replicate(), Flat()]).redistribute([Replicate(), Replicate()])
    with checks("condition"):
        assert shards.placements == (Flat(), Flat())
        assert equal(whole, [rows * 3])


def test_two_changes_at_once_are_refused(ranks):
    mesh = ranks.mesh(2, 2)
    buffer = DBuffer.distribute_tensors(numbered([(8, 3)]), mesh, [Flat(), Flat()])
    with checks("condition"):
        with pytest.raises(NotImplementedError):
            buffer.redistribute([Replicate(), Replicate()])
        with pytest.raises(ValueError):
            buffer.redistribute([Replicate()])
        with pytest.raises(ValueError):
            DBuffer.distribute_tensors(numbered([(8, 3)]), mesh, [Flat(), Replicate()])


def test_tensors_that_do_not_fill_a_chunk_share_it(ranks):
    mesh = ranks.mesh()
    shapes = [(7, 4), (6, 6), (5, 4)]
    buffer = DBuffer(mesh, [Flat()], shapes, torch.float32, "cpu")
    with checks("shape-layout-dtype"):
        # Row sizes 4 and 6: chunks of 12. Remainders 4, 0 and 8: the first and the third share a chunk.
        assert buffer.layout.tensor_to_offset == (0, 48, 28)
        assert buffer.layout.size == 96
