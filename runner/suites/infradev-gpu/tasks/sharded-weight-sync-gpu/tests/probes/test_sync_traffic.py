"""What a push sends, on four ranks. The grader counts the bytes."""

import torch
from infradev_report import checks
from sync_cases import differing, make_weights, whole_weights

from torchfleet.weight_sync import WeightSync
from torchfleet.weights import TensorSpec


def test_bytes_of_a_push(group):
    specs = [
        TensorSpec("w", (1024, 512), torch.bfloat16, split_dim=0),
        TensorSpec("v", (512, 1024), torch.bfloat16, split_dim=1),
    ]
    trainers, rollouts = [0, 1], [2, 3]
    source, target = make_weights(group, specs, trainers, rollouts)
    WeightSync(group, specs, trainers, rollouts).push(source, target)
    with checks("value"):
        assert not differing(target, whole_weights(specs))
