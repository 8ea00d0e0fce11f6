"""Collectives and messages, at any world size."""

import pytest

from tinyfleet.comm import CollectiveTimeout, CommError, PeerLost, init_group
from tinyfleet.tensor import Tensor


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (1,)])
def test_all_reduce_sums_in_place(group, dtype, shape):
    t = Tensor.full(shape, group.rank + 1, dtype)
    assert group.all_reduce(t) is t
    n = group.world_size
    assert t.elements().tolist() == [n * (n + 1) / 2] * t.numel
    assert t.dtype == dtype


def test_all_reduce_mean_max_min(group):
    n = group.world_size
    assert group.all_reduce(Tensor.of([float(group.rank)]), "mean")[0] == (n - 1) / 2
    assert group.all_reduce(Tensor.of([float(group.rank)]), "max")[0] == n - 1
    assert group.all_reduce(Tensor.of([float(group.rank)]), "min")[0] == 0


def test_reduction_does_not_depend_on_the_cut(group):
    values = [0.1 * (group.rank + 1) / (i + 3) for i in range(4 * group.world_size)]
    whole = group.all_reduce(Tensor.of(values)).tolist()
    part = group.reduce_scatter(Tensor.of(values)).tolist()
    assert part == whole[4 * group.rank:4 * group.rank + 4]


def test_reduce_scatter_keeps_rows_together(group):
    t = Tensor.of([[row, group.rank] for row in range(2 * group.world_size)], "i8")
    part = group.reduce_scatter(t)
    n = group.world_size
    assert part.tolist() == [[n * (2 * group.rank + row), n * (n - 1) // 2] for row in range(2)]


def test_reduce_scatter_refuses_odd_sizes(group):
    with pytest.raises(ValueError, match="no multiple|dimension"):
        group.reduce_scatter(Tensor.zeros(()))


def test_all_gather_of_uneven_tensors_and_objects(group):
    parts = group.all_gather(Tensor.full(group.rank, group.rank, "i8"))
    assert [part.tolist() for part in parts] == [[rank] * rank for rank in range(group.world_size)]
    assert group.all_gather({"rank": group.rank}) == [{"rank": rank} for rank in range(group.world_size)]


def test_broadcast_from_every_rank(group):
    for src in range(group.world_size):
        t = Tensor.full((2, 3), group.rank, "f4")
        assert group.broadcast(t, src) is t
        assert t.tolist() == [[src] * 3] * 2
        assert group.broadcast(f"from {group.rank}" if group.rank == src else None, src) == f"from {src}"


def test_messages_of_a_tag_keep_their_order(group):
    right, left = (group.rank + 1) % group.world_size, (group.rank - 1) % group.world_size
    if group.world_size == 1:
        with pytest.raises(ValueError, match="itself"):
            group.send(1, 0)
        return
    for i in range(3):
        group.send((i, group.rank), right, tag=i % 2)
    assert group.recv(left, tag=1) == (1, left)
    assert group.recv(left, tag=0) == (0, left)
    assert group.recv(left, tag=0) == (2, left)
    assert not group.poll(left)
    group.barrier()


def test_everybody_sends_much_to_everybody_first(group):
    big = Tensor.full(400_000, group.rank, "f8")
    others = [rank for rank in range(group.world_size) if rank != group.rank]
    for rank in others:
        group.send(big, rank)
    for rank in others:
        got = group.recv(rank)
        assert got.numel == 400_000 and got[399_999] == rank


def test_traffic_is_what_theory_says(group):
    n = group.world_size
    t = Tensor.zeros(24 * n, "f4")
    group.all_reduce(t)
    assert group.stats.bytes_sent("all_reduce") == 2 * (n - 1) * 24 * 4
    group.reduce_scatter(t)
    assert group.stats.bytes_sent("reduce_scatter") == (n - 1) * 24 * 4
    group.all_gather(t[:24])
    assert group.stats.bytes_sent("all_gather") == (n - 1) * 24 * 4
    assert group.stats.total_sent() == 4 * (n - 1) * 24 * 4
    group.stats.reset()
    assert group.stats.total_sent() == 0 and group.stats.calls("all_reduce") == 0


def test_subgroups_are_numbered_anew_and_keep_apart(group):
    backwards = group.subgroup(range(group.world_size - 1, -1, -1))
    assert backwards.rank == group.world_size - 1 - group.rank
    first = group.subgroup([0])
    assert (first is None) == (group.rank != 0)
    if group.rank == 0:
        assert first.all_gather("alone") == ["alone"]
    sub = group.subgroup(range(max(1, group.world_size - 1)))
    if sub is not None:
        assert sub.all_reduce(Tensor.of([1.0]))[0] == sub.world_size
    assert backwards.all_gather(group.rank) == list(range(group.world_size - 1, -1, -1))


def test_a_silent_peer_times_out(group, request):
    if group.world_size == 1:
        return
    with init_group(name=request.node.nodeid + "/short", timeout_s=0.3) as short:
        if group.rank == 0:
            with pytest.raises(CollectiveTimeout, match="rank 1"):
                short.recv(1)
        group.barrier()


def test_a_closed_peer_is_lost_for_all_that_wait(group, request):
    if group.world_size == 1:
        return
    other = init_group(name=request.node.nodeid + "/other", timeout_s=5.0)
    if group.rank == 0:
        other.close()
    else:
        with pytest.raises(PeerLost) as caught:
            other.recv(0)
        assert caught.value.rank == 0 and isinstance(caught.value, CommError)
    group.barrier()
    other.close()


def test_different_collectives_are_told_apart(group):
    if group.world_size == 1:
        return
    with pytest.raises(CommError, match="rank . is (in|gone)"):
        if group.rank == 0:
            group.barrier()
            group.barrier()
        else:
            group.all_gather(1)


def test_a_group_name_can_be_used_again(group, request):
    for _ in range(3):
        with init_group(name=request.node.nodeid + "/again") as again:
            assert again.all_reduce(Tensor.of([1], "i8"))[0] == group.world_size
