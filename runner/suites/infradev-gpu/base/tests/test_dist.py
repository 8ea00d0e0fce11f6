"""Collectives on any backend. Run on one or more ranks."""

import pytest
import torch

DTYPES = [torch.float32, torch.bfloat16, torch.int64]


def filled(group, dtype=torch.float32, rank=None):
    """A 4n x 3 tensor that tells ranks and places apart and whose sums are exact in every dtype."""
    numbers = torch.arange(12 * group.world_size, device=group.device) % 7 + (group.rank if rank is None else rank)
    return numbers.view(-1, 3).to(dtype)


def total(group, dtype):
    return sum(filled(group, dtype, rank) for rank in range(group.world_size))


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_reduce_sums(group, dtype):
    own = filled(group, dtype)
    summed = group.all_reduce(own)
    assert summed.dtype == dtype and summed.device == group.device
    assert torch.equal(summed, total(group, dtype))
    assert torch.equal(own, filled(group, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1])
def test_all_gather_joins_in_the_order_of_ranks(group, dtype, dim):
    joined = group.all_gather(filled(group, dtype), dim)
    assert torch.equal(joined, torch.cat([filled(group, dtype, rank) for rank in range(group.world_size)], dim))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1])
def test_reduce_scatter_gives_each_rank_its_part(group, dtype, dim):
    own = filled(group, dtype) if dim == 0 else filled(group, dtype).t()
    whole = total(group, dtype) if dim == 0 else total(group, dtype).t()
    assert torch.equal(group.reduce_scatter(own, dim), whole.chunk(group.world_size, dim)[group.rank])


def test_reduce_scatter_refuses_what_does_not_divide(group):
    if group.world_size == 1:
        pytest.skip("everything divides by one rank")
    with pytest.raises(ValueError, match="does not divide"):
        group.reduce_scatter(torch.zeros(group.world_size + 1, device=group.device))


@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcast_leaves_the_argument(group, dtype):
    own = filled(group, dtype)
    last = group.world_size - 1
    assert torch.equal(group.broadcast(own, last), filled(group, dtype, last))
    assert torch.equal(own, filled(group, dtype))


def test_exchange_goes_both_ways_round_a_ring(group):
    if group.world_size == 1:
        pytest.skip("a ring has two ranks or more")
    right, left = (group.rank + 1) % group.world_size, (group.rank - 1) % group.world_size
    sends = [(filled(group, torch.bfloat16), right)]
    pending = group.start_exchange(sends, [(sends[0][0].shape, torch.bfloat16, left)])
    received, *_ = [transfer.wait() for transfer in pending]
    assert torch.equal(received, filled(group, torch.bfloat16, left))


def test_one_sender_is_received_in_order(group):
    if group.world_size == 1:
        pytest.skip("nobody to send to")
    if group.rank == 0:
        for value in range(3):
            group.send(torch.full((5,), float(value), device=group.device), 1)
    elif group.rank == 1:
        received = [group.receive((5,), torch.float32, 0) for _ in range(3)]
        assert [tensor[0].item() for tensor in received] == [0.0, 1.0, 2.0]
    group.barrier()


def test_subgroups_count_their_own_ranks(group):
    last = group.subgroup([group.world_size - 1])
    upper = group.subgroup(range(group.world_size // 2, group.world_size))
    assert (last is None) == (group.rank != group.world_size - 1)
    assert (upper is None) == (group.rank < group.world_size // 2)
    if upper is not None:
        assert upper.rank == group.rank - group.world_size // 2
        ranks = upper.all_gather(torch.tensor([group.rank], device=group.device)).tolist()
        assert ranks == list(range(group.world_size // 2, group.world_size))


def test_objects_travel(group):
    assert group.gather_objects({"rank": group.rank}) == [{"rank": rank} for rank in range(group.world_size)]
    assert group.broadcast_object(f"from {group.rank}", 0) == "from 0"
