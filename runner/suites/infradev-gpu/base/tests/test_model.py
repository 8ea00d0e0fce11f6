"""Models that are split over ranks compute what whole ones do. Run on one, two or four ranks."""

import pytest
import torch

from torchfleet.layers import ColumnParallelLinear, RowParallelLinear
from torchfleet.model import Config, Transformer

CONFIG = Config(dtype=torch.float64)


def random(group, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(group.device)


def test_column_then_row_is_the_product(group):
    first, second = random(group, 8, 6), random(group, 5, 8)
    own = random(group, 3, 6).requires_grad_()
    column = ColumnParallelLinear(first, random(group, 8), group)
    row = RowParallelLinear(second, random(group, 5), group)
    out = row(column(own))
    out.sum().backward()
    whole = own.detach().clone().requires_grad_()
    expected = (whole @ first.t() + random(group, 8)) @ second.t() + random(group, 5)
    expected.sum().backward()
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(own.grad, whole.grad)
    torch.testing.assert_close(group.all_gather(column.weight), first)


def test_features_that_do_not_divide_are_refused(group):
    if group.world_size == 1:
        pytest.skip("everything divides by one rank")
    with pytest.raises(ValueError, match="do not divide"):
        ColumnParallelLinear(torch.zeros(group.world_size + 1, 2), torch.zeros(group.world_size + 1), group)


def test_split_transformer_is_the_whole_one(group):
    split, whole = Transformer(CONFIG, group, seed=3), Transformer(CONFIG, group.alone(), seed=3)
    tokens = torch.arange(22, device=group.device).view(2, 11) % 7
    split.loss(tokens).backward()
    whole.loss(tokens).backward()
    torch.testing.assert_close(split(tokens), whole(tokens))
    torch.testing.assert_close(split.tokens.grad, whole.tokens.grad)
    torch.testing.assert_close(split.blocks[0].mlp_norm.weight.grad, whole.blocks[0].mlp_norm.weight.grad)
    up = group.all_gather(split.blocks[1].mlp.up.weight.grad)
    torch.testing.assert_close(up, whole.blocks[1].mlp.up.weight.grad)


def test_later_tokens_change_no_earlier_logits(group):
    model = Transformer(CONFIG, group)
    tokens = torch.arange(8, device=group.device).view(1, 8)
    changed = tokens.clone()
    changed[0, 5] = 60
    torch.testing.assert_close(model(tokens)[:, :5], model(changed)[:, :5])


def test_too_many_positions_are_refused(group):
    with pytest.raises(ValueError, match="positions"):
        Transformer(CONFIG, group)(torch.zeros(1, CONFIG.length + 1, dtype=torch.long, device=group.device))
