"""Requirements of fully_shard on four CPU ranks: shapes that do not divide, and training as on one rank."""

import pytest
import torch
from infradev_report import checks
from models import batch_of, layered, shard_units, whole
from torch.distributed.tensor import DTensor


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_training_is_that_of_one_rank_with_all_batches(ranks, optimizer):
    made = {
        "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
    }[optimizer]
    reference, model = layered(ranks), shard_units(layered(ranks), ranks)
    reference_optimizer, own_optimizer = made(reference.parameters()), made(model.parameters())
    for step in range(4):
        reference_optimizer.zero_grad()
        loss = sum(reference(batch_of(ranks, rank, step=step)).square().mean() for rank in range(ranks.world))
        (loss / ranks.world).backward()
        reference_optimizer.step()
        own_optimizer.zero_grad()
        model(batch_of(ranks, ranks.rank, step=step)).square().mean().backward()
        own_optimizer.step()
    pairs = [(whole(ranks, own), other) for own, other in zip(model.parameters(), reference.parameters(), strict=True)]
    with checks("value"):
        for own, other in pairs:
            torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


def test_gradients_are_means_over_all_ranks(ranks):
    model = shard_units(layered(ranks), ranks)
    reference = layered(ranks)
    model(batch_of(ranks, ranks.rank)).sum().backward()
    sum(reference(batch_of(ranks, rank)).sum() for rank in range(ranks.world)).backward()
    pairs = [
        (whole(ranks, own.grad), other.grad / ranks.world)
        for own, other in zip(model.parameters(), reference.parameters(), strict=True)
    ]
    with checks("condition"):
        for own, other in pairs:
            torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)


def test_a_rank_may_hold_no_row_of_a_parameter(ranks):
    model = shard_units(layered(ranks), ranks)
    rows = {name: ranks.everywhere(parameter.to_local().shape[0]) for name, parameter in model.named_parameters()}
    expected = {name: parameter.shape for name, parameter in layered(ranks).named_parameters()}
    with checks("shape-layout-dtype"):
        for name, parameter in model.named_parameters():
            assert isinstance(parameter, DTensor)
            assert parameter.shape == expected[name]
            assert sum(rows[name]) == expected[name][0]
            assert parameter.to_local().shape[1:] == expected[name][1:]
        assert 0 in rows["scale"]


def test_units_gather_on_their_own_while_batches_differ_in_length(ranks):
    model = shard_units(layered(ranks), ranks)
    rows = 1 + 2 * ranks.rank
    x = batch_of(ranks, ranks.rank, rows=rows)
    output = model(x)
    output.sum().backward()
    reference = layered(ranks)
    expected = reference(x)
    with checks("condition"):
        assert output.shape == (rows, 3)
        torch.testing.assert_close(output, expected)
