"""Requirements of the direct weight sync, on four ranks."""

import tracemalloc

import pytest
from infradev_report import check_resource, checks
from weight_sync_cases import bytes_to_send, differing, make_stores, values

from tinyfleet.comm import CommError, init_group
from tinyfleet.rl import ParamSpec, ShardLayout, WeightSync
from tinyfleet.tensor import Tensor

SPECS = [ParamSpec("w", (50, 41)), ParamSpec("b", (41,)), ParamSpec("step", (), "i8")]
SPLIT = ShardLayout.sharded((0, 1)), ShardLayout.replicated((2, 3))
ALLOWANCE_BYTES = 4096  # versions of a few parameters, frame headers of a few dozen messages


def test_each_rank_sends_only_what_its_peers_serve(group, wire):
    specs = [ParamSpec("w", (100, 101)), ParamSpec("b", (101,))]
    layouts = ShardLayout.sharded((3, 0, 1, 2)), ShardLayout.sharded((2, 3, 1))
    source, target = make_stores(group, specs, *layouts)
    source.publish(0)
    sync = WeightSync(group, specs, *layouts)
    group.barrier()
    wire.sent = 0
    sync.push(source, target)
    sent = wire.sent
    needed = bytes_to_send(specs, *layouts, group.rank)
    with checks("value"):
        assert target is None or not differing(target, values(specs))
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=sent, limit=int(1.05 * needed) + ALLOWANCE_BYTES, unit="bytes")


def test_a_push_of_unchanged_weights_moves_nothing(group, wire):
    source, target = make_stores(group, SPECS, *SPLIT)
    if source is not None:
        source.publish(0)
    sync = WeightSync(group, SPECS, *SPLIT)
    sync.push(source, target)
    group.barrier()
    wire.sent = 0
    report = sync.push(source, target)
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=wire.sent, limit=1024, unit="bytes")
        assert (report.updated, report.sent_bytes, report.received_bytes, report.copied_bytes) == ((), 0, 0, 0)


def test_memory_stays_within_a_few_chunks(group):
    specs = [ParamSpec("w", (512, 1024))]
    chunk_bytes = 16384
    source, target = make_stores(group, specs, *SPLIT)
    if source is not None:
        source.publish(0)
    sync = WeightSync(group, specs, *SPLIT, chunk_bytes=chunk_bytes)
    group.barrier()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        sync.push(source, target)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    with checks("resource.memory"):
        check_resource("peak_memory", value=peak - before, limit=2 * chunk_bytes * group.world_size + 65536, unit="bytes")
    with checks("value"):
        assert target is None or target.shard("w")[-1] == 512 * 1024


def test_a_restarted_rollout_rank_gets_everything(group):
    source, target = make_stores(group, SPECS, *SPLIT)
    if source is not None:
        source.publish(2)
    sync = WeightSync(group, SPECS, *SPLIT)
    sync.push(source, target)
    if group.rank == 3:
        _, target = make_stores(group, SPECS, *SPLIT)
    report = sync.push(source, target)
    with checks("state-lifecycle"):
        if group.rank == 3:
            assert not differing(target, values(SPECS)), "the new store has not got the weights"
            assert [target.version(spec.name) for spec in SPECS] == [2, 2, 2]
        if group.rank == 2:
            assert (report.updated, report.received_bytes) == ((), 0), "rank 2 had everything"


def test_a_rollback_of_the_trainers_reaches_the_rollout_ranks(group):
    source, target = make_stores(group, SPECS, *SPLIT)
    sync = WeightSync(group, SPECS, *SPLIT)
    for version in (5, 2):
        if source is not None:
            source.load_full(values(SPECS, offset=10 * version))
            source.publish(version)
        sync.push(source, target)
    with checks("state-lifecycle"):
        if target is not None:
            assert not differing(target, values(SPECS, offset=20)), "the rollout ranks kept the newer weights"
            assert [target.version(spec.name) for spec in SPECS] == [2, 2, 2]


class Interrupted(RuntimeError):
    """Stands for the death of rank 0 in the middle of a push."""


def test_an_interrupted_push_leaves_true_versions_and_is_repaired(group, request, monkeypatch):
    old, new = values(SPECS), values(SPECS, offset=100)
    source, target = make_stores(group, SPECS, *SPLIT)
    if source is not None:
        source.publish(0)
    WeightSync(group, SPECS, *SPLIT).push(source, target)
    if source is not None:
        source.load_full(new)
        source.publish(1)

    failing = init_group(name=request.node.nodeid + "/failing", timeout_s=2.0)
    send, sent = failing.send, []

    def send_a_few(value, dst, tag=0):
        if isinstance(value, Tensor) and len(sent) == 3:
            failing.close()
            raise Interrupted
        sent.append(dst)
        send(value, dst, tag)

    if group.rank == 0:
        monkeypatch.setattr(failing, "send", send_a_few)
    with checks("condition"), pytest.raises((Interrupted, CommError)):
        try:
            WeightSync(failing, SPECS, *SPLIT, chunk_bytes=1024).push(source, target)
            if group.rank == 1:
                raise Interrupted  # a trainer may have sent all of its part before rank 0 was lost
        finally:
            failing.close()
    with checks("state-lifecycle"):
        if target is not None:
            for spec in SPECS:
                version = target.version(spec.name)
                assert version in (-1, 0, 1)
                if version >= 0:
                    expected = (old, new)[version][spec.name].to(spec.dtype).tolist()
                    assert target.shard(spec.name).tolist() == expected, f"{spec.name} is not at version {version}"
    WeightSync(group, SPECS, *SPLIT).push(source, target)
    with checks("state-lifecycle"):
        if target is not None:
            assert not differing(target, new), "the push after the interrupted one did not bring what was missing"
            assert [target.version(spec.name) for spec in SPECS] == [1, 1, 1]


def test_targets_are_written_in_place_and_share_nothing(group):
    specs = [ParamSpec("w", (8, 5), "f8"), ParamSpec("step", (6,), "i8")]
    layout = ShardLayout.sharded((0, 1, 2, 3))
    source, target = make_stores(group, specs, layout, layout)
    source.publish(0)
    earlier = {spec.name: target.shard(spec.name) for spec in specs}
    WeightSync(group, specs, layout, layout).push(source, target)
    for spec in specs:
        source.shard(spec.name).fill_(-1)
    with checks("shape-layout-dtype"):
        assert not differing(target, values(specs)), "the target's tensors changed with the trainer's"
        for spec in specs:
            start, stop = target.interval(spec.name)
            expected = values(specs)[spec.name][start:stop].tolist()
            assert earlier[spec.name].tolist() == expected, "a tensor taken before the push was left behind"


def test_every_dtype_arrives_exactly(group):
    specs = [ParamSpec("table", (9,), "i8"), ParamSpec("scale", (9,), "f8"), ParamSpec("w", (9,))]
    whole = {
        "table": Tensor.of([(2**53 + 1) * (-1) ** index + index for index in range(9)], "i8"),
        "scale": Tensor.of([1 / 3 + index for index in range(9)]),
        "w": Tensor.of([1 / 3 + index for index in range(9)]),
    }
    source, target = make_stores(group, specs, *SPLIT)
    if source is not None:
        source.load_full(whole)
        source.publish(0)
    report = WeightSync(group, specs, *SPLIT).push(source, target)
    with checks("shape-layout-dtype"):
        if target is not None:
            assert not differing(target, whole)
            assert report.received_bytes == 9 * (8 + 8 + 4)
