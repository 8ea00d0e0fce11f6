"""Requirements on sequence parallelism that show on four ranks."""

import pytest
import torch
from infradev_report import checks

from torchfleet.model import Config, Transformer
from torchfleet.trainer import Trainer

SIZES = {"width": 16, "heads": 4, "blocks": 2, "length": 16, "vocabulary": 11}


def test_split_models_train_over_data_groups(group):
    pairs = [group.subgroup(ranks) for ranks in ((0, 1), (2, 3))]
    columns = [group.subgroup(ranks) for ranks in ((0, 2), (1, 3))]
    tensor, data = next(filter(None, pairs)), next(filter(None, columns))
    split = Trainer(Transformer(Config(**SIZES, sequence_parallel=True), tensor, seed=2), data, micro_batches=2)
    whole = Trainer(Transformer(Config(**SIZES), group.alone(), seed=2), group.alone())
    losses = [(split.train_step(), whole.train_step()) for _ in range(5)]
    biases = [(name, parameter) for name, parameter in split.model.named_parameters() if name.endswith("out.bias")]
    with checks("condition"):
        for own, expected in losses:
            assert own == pytest.approx(expected, rel=1e-4)
        for name, bias in biases:
            torch.testing.assert_close(bias, whole.model.get_parameter(name), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("length", [2, 13])
def test_four_ranks_share_uneven_lengths(group, length):
    own = torch.arange(2 * length + 2, device=group.device).view(2, -1) * 5 % 11
    sizes = {**SIZES, "dtype": torch.float64}
    split = Transformer(Config(**sizes, sequence_parallel=True), group, seed=4)
    whole = Transformer(Config(**sizes), group.alone(), seed=4)
    split.loss(own).backward()
    whole.loss(own).backward()
    split.finish_gradients()
    with checks("condition"):
        torch.testing.assert_close(split(own[:, :-1]), whole(own[:, :-1]))
        for name in ("tokens", "blocks.0.attention_norm.bias", "blocks.1.mlp.down.bias", "norm.weight"):
            torch.testing.assert_close(split.get_parameter(name).grad, whole.get_parameter(name).grad)
