"""Requirements of the direct weight sync, on three ranks and uneven layouts."""

import pytest
from infradev_report import checks
from weight_sync_cases import differing, make_stores, values

from tinyfleet.rl import ParamSpec, ShardLayout, WeightSync

SPECS = [
    ParamSpec("w", (5, 7)),
    ParamSpec("pair", (2,)),
    ParamSpec("none", (0, 4)),
    ParamSpec("step", (), "i8"),
    ParamSpec("scale", (13,), "f8"),
]
LAYOUTS = {
    "all-to-all": (ShardLayout.sharded((0, 1, 2)), ShardLayout.replicated((0, 1, 2))),
    "three-to-two-shards": (ShardLayout.sharded((0, 1, 2)), ShardLayout.sharded((2, 0))),
    "one-to-two": (ShardLayout.sharded((2,)), ShardLayout.sharded((0, 1))),
    "two-to-three-reversed": (ShardLayout.sharded((1, 0)), ShardLayout.sharded((2, 1, 0))),
    "bystander": (ShardLayout.sharded((2,)), ShardLayout.replicated((0,))),
}


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_uneven_layouts(group, layouts):
    trainers, rollouts = LAYOUTS[layouts]
    source, target = make_stores(group, SPECS, trainers, rollouts)
    sync = WeightSync(group, SPECS, trainers, rollouts, chunk_bytes=24)
    for version in (0, 1):
        if source is not None:
            source.load_full(values(SPECS, offset=version))
            source.publish(version)
        report = sync.push(source, target)
        with checks("condition"):
            if target is not None:
                assert not differing(target, values(SPECS, offset=version))
                assert {target.version(spec.name) for spec in SPECS} == {version}
                assert report.updated == tuple(spec.name for spec in SPECS)
                assert report.received_bytes + report.copied_bytes == sum(target.shard(s.name).nbytes for s in SPECS)
