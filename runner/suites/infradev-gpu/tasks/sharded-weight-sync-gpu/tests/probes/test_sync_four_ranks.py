"""Requirements of the direct weight sync, on four ranks."""

import pytest
import torch
from infradev_report import check_resource, checks
from sync_cases import ODD_SPECS, Ledger, bytes_to_send, differing, generate, make_weights, whole_weights

from torchfleet.rollout import RolloutEngine, policy_specs
from torchfleet.weight_sync import WeightSync
from torchfleet.weights import TensorSpec

LAYOUTS = {
    "three-to-two": ([0, 1, 2], [2, 3]),
    "one-to-three": ([3], [0, 1, 2]),
    "all-to-all-turned": ([0, 1, 2, 3], [2, 0, 3, 1]),
    "two-to-one": ([3, 1], [0]),
}


def test_each_rank_sends_what_the_others_lack(group):
    specs = [
        TensorSpec("w", (96, 128), torch.bfloat16, split_dim=0),
        TensorSpec("v", (128, 96), torch.bfloat16, split_dim=1),
        TensorSpec("b", (128,), torch.bfloat16),
    ]
    trainers, rollouts = [0, 1, 2], [3, 2]
    source, target = make_weights(group, specs, trainers, rollouts)
    sync = WeightSync(group, specs, trainers, rollouts)
    with Ledger() as ledger:
        sync.push(source, target)
    needed = bytes_to_send(specs, trainers, rollouts, group.rank)
    with checks("value"):
        assert not differing(target, whole_weights(specs))
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=ledger.sent_bytes, limit=1.02 * needed + 4096, unit="bytes")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(group, layout):
    trainers, rollouts = LAYOUTS[layout]
    source, target = make_weights(group, ODD_SPECS, trainers, rollouts)
    if source is not None:
        source.version = 6
    WeightSync(group, ODD_SPECS, trainers, rollouts, bucket_bytes=40).push(source, target)
    with checks("condition"):
        assert not differing(target, whole_weights(ODD_SPECS))
        if target is not None:
            assert target.version == 6
            assert target.tensor("table_again") is target.tensor("table")


def test_uneven_rollout_ranks_generate_alike(group):
    trainers, rollouts = [0, 1, 2], [1, 2, 3]
    specs = policy_specs(13, 7)
    source, target = make_weights(group, specs, trainers, rollouts)
    WeightSync(group, specs, trainers, rollouts).push(source, target)
    own = group.subgroup(rollouts)
    sequences = [[5, 2], [11]]
    if own is not None:
        engine = RolloutEngine(own, target)
        engine.start(sequences)
        for _ in range(5):
            engine.step()
    everyone = group.gather_objects(None if own is None else engine.sequences)
    with checks("condition"):
        expected = [sequence + generate(whole_weights(specs), sequence, 5) for sequence in sequences]
        assert [everyone[rank] for rank in rollouts] == [expected] * 3
