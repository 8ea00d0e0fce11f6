"""Activations split by position over the ranks of a split model. Run on two ranks."""

import pytest
import torch

from torchfleet.layers import ColumnParallelLinear, RowParallelLinear
from torchfleet.model import Config, Transformer
from torchfleet.trainer import Trainer

SIZES = {"width": 16, "heads": 4, "blocks": 2, "length": 16, "vocabulary": 11}
SPLIT = Config(**SIZES, dtype=torch.float64, sequence_parallel=True)
WHOLE = Config(**SIZES, dtype=torch.float64)


def random(group, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(group.device)


def own(group, tensor):
    return tensor.chunk(group.world_size)[group.rank]


def test_layers_take_and_give_positions(group):
    first, second, whole = (random(group, *shape).requires_grad_() for shape in ((8, 6), (5, 8), (12, 3, 6)))
    column = ColumnParallelLinear(first.detach(), random(group, 8), group, sequence_parallel=True)
    row = RowParallelLinear(second.detach(), random(group, 5), group, sequence_parallel=True)
    part = own(group, whole).detach().clone().requires_grad_()
    inner = column(part)
    out = row(inner)
    assert inner.shape == (12, 3, 8 // group.world_size)
    expected = (whole @ first.t() + random(group, 8)) @ second.t() + random(group, 5)
    torch.testing.assert_close(out, own(group, expected))
    out.sin().sum().backward()
    expected.sin().sum().backward()
    torch.testing.assert_close(part.grad, own(group, whole.grad))
    torch.testing.assert_close(column.weight.grad, own(group, first.grad))
    torch.testing.assert_close(row.weight.grad.t(), own(group, second.grad.t()))


def test_logits_and_loss_are_the_same(group):
    split, whole = Transformer(SPLIT, group, seed=3), Transformer(WHOLE, group.alone(), seed=3)
    tokens = torch.arange(32, device=group.device).view(2, 16) % 7
    torch.testing.assert_close(split(tokens), whole(tokens))
    longer = torch.arange(26, device=group.device).view(2, 13) % 7
    torch.testing.assert_close(split.loss(longer), whole.loss(longer))


def test_blocks_see_a_part_of_the_positions(group):
    model = Transformer(SPLIT, group)
    shapes = []
    for block in model.blocks:
        block.register_forward_hook(lambda _, inputs, output: shapes.extend([inputs[0].shape, output.shape]))
    model(torch.zeros(3, 16, dtype=torch.long, device=group.device))
    assert shapes == [(16 // group.world_size, 3, 16)] * 4


def test_gradients_of_norms_and_embeddings_are_complete(group):
    split, whole = Transformer(SPLIT, group, seed=3), Transformer(WHOLE, group.alone(), seed=3)
    tokens = torch.arange(34, device=group.device).view(2, 17)[:, :13] % 7
    split.loss(tokens).backward()
    whole.loss(tokens).backward()
    split.finish_gradients()
    for name in ("tokens", "positions", "head", "norm.weight", "blocks.0.attention_norm.weight"):
        torch.testing.assert_close(split.get_parameter(name).grad, whole.get_parameter(name).grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_trainer_learns(group, dtype):
    config = Config(**{**SIZES, "length": 9}, dtype=dtype, sequence_parallel=True)
    trainer = Trainer(Transformer(config, group), group.alone(), lr=2e-2)
    losses = [trainer.train_step() for _ in range(12)]
    assert losses[-1] < losses[0] - 0.3
