"""Direct, versioned weight sync on four ranks."""

import pytest

from tinyfleet.rl import LoopConfig, ParamSpec, RLLoop, RolloutConfig, ShardLayout, ShardStore, WeightSync
from tinyfleet.tensor import Tensor

SPECS = [ParamSpec("w", (64, 32)), ParamSpec("b", (32,)), ParamSpec("step", (), "i8")]


def values(offset=0):
    return {
        "w": Tensor.of([offset + i / 8 for i in range(64 * 32)]),
        "b": Tensor.of([offset - i for i in range(32)]),
        "step": Tensor.of([offset + 7], "i8"),
    }


def make_stores(group, trainers, rollouts, specs=SPECS):
    source = target = None
    if trainers.holds(group.rank):
        source = ShardStore(specs, trainers, group.rank, master=True)
        source.load_full(values())
    if rollouts.holds(group.rank):
        target = ShardStore(specs, rollouts, group.rank)
    return source, target


def assert_holds(target, expected):
    for name, spec in target.specs.items():
        start, stop = target.interval(name)
        assert target.shard(name).dtype == spec.dtype
        assert target.shard(name).tolist() == expected[name][start:stop].to(spec.dtype).tolist()


SPLIT = ShardLayout.sharded((0, 1)), ShardLayout.replicated((2, 3))


def test_push_without_versions_copies_everything(group):
    source, target = make_stores(group, *SPLIT)
    sync = WeightSync(group, SPECS, *SPLIT)
    for offset in (0, 5):
        if source is not None:
            source.load_full(values(offset))
        sync.push(source, target)
        if target is not None:
            assert_holds(target, values(offset))


def test_push_carries_versions(group):
    source, target = make_stores(group, *SPLIT)
    if source is not None:
        assert source.version("w") == -1
        source.publish(4)
    report = WeightSync(group, SPECS, *SPLIT).push(source, target)
    if target is not None:
        assert_holds(target, values())
        assert [target.version(spec.name) for spec in SPECS] == [4, 4, 4]
        assert report.updated == ("w", "b", "step")
    else:
        assert report.updated == ()


def test_parameters_that_did_not_change_stay(group):
    source, target = make_stores(group, *SPLIT)
    sync = WeightSync(group, SPECS, *SPLIT)
    if source is not None:
        source.publish(0)
    sync.push(source, target)
    if source is not None:
        source.shard("b").fill_(2.5)
        source.publish(1, ["b"])
    report = sync.push(source, target)
    if target is not None:
        assert report.updated == ("b",)
        assert target.shard("b").tolist() == [2.5] * 32
        assert (target.version("w"), target.version("b")) == (0, 1)


def test_rank_zero_is_no_bottleneck(group):
    specs = [ParamSpec("w", (64, 32))]
    layouts = ShardLayout.sharded((0, 1)), ShardLayout.sharded((2, 3))
    source, target = make_stores(group, *layouts, specs)
    group.stats.reset()
    WeightSync(group, specs, *layouts).push(source, target)
    whole = 64 * 32 * 8
    assert group.stats.total_sent() <= (0.55 * whole if source is not None else 256)
    if target is not None:
        assert_holds(target, values())


def test_messages_are_bounded(group, monkeypatch):
    source, target = make_stores(group, *SPLIT)
    sizes = []
    send = group.send

    def recording_send(value, dst, tag=0):
        if isinstance(value, Tensor):
            sizes.append(value.nbytes)
        return send(value, dst, tag)

    monkeypatch.setattr(group, "send", recording_send)
    WeightSync(group, SPECS, *SPLIT, chunk_bytes=1000).push(source, target)
    assert all(size <= 1000 for size in sizes)
    assert bool(sizes) == (source is not None)
    if target is not None:
        assert_holds(target, values())


def test_colocated_ranks_copy_what_they_hold(group):
    layouts = ShardLayout.sharded((0, 1, 2, 3)), ShardLayout.replicated((0, 1, 2, 3))
    source, target = make_stores(group, *layouts)
    source.publish(1)
    report = WeightSync(group, SPECS, *layouts).push(source, target)
    assert_holds(target, values())
    total = sum(shard.nbytes for shard in map(target.shard, target.names))
    assert report.received_bytes + report.copied_bytes == total
    assert report.copied_bytes == sum(source.shard(s.name).to(s.dtype).nbytes for s in SPECS)


def test_trainers_that_disagree_are_refused(group):
    from tinyfleet.rl import VersionMismatch

    source, target = make_stores(group, *SPLIT)
    if source is not None:
        source.publish(3)
    if group.rank == 1:
        source.publish(2, ["b"])
    with pytest.raises(VersionMismatch, match="'?b'?"):
        WeightSync(group, SPECS, *SPLIT).push(source, target)
    if target is not None:
        assert [target.version(spec.name) for spec in SPECS] == [-1, -1, -1]
        assert not any(target.shard("w").tolist())


def test_the_loop_publishes_its_version(group):
    config = LoopConfig(
        vocab=6,
        hidden=3,
        trainer_ranks=(0, 1),
        rollout_ranks=(2, 3),
        rollout=RolloutConfig(batch_size=2, max_new_tokens=2),
    )
    loop = RLLoop(group, [(1, 2), (3, 4), (5,)], lambda prompt, tokens: float(len(tokens)), config)
    loop.iterate()
    store = loop.source or loop.target
    assert {store.version(name) for name in store.names} == {1}
