"""Pipelines of as many stages as there are ranks."""

import pytest
import torch
from torch import nn

from torchfleet.pipeline import Pipeline

BATCH, WIDTH = 8, 6


def make_stages(group):
    """Every stage of one model, the same on each rank."""
    torch.manual_seed(1)
    stages = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(group.world_size)]
    return [stage.to(group.device) for stage in stages]


def make_batch(group, seed=2):
    generator = torch.Generator().manual_seed(seed)
    inputs, targets = torch.randn(2, BATCH, WIDTH, generator=generator)
    return inputs.to(group.device), targets.to(group.device)


def whole_loss(stages, inputs, targets):
    return nn.functional.mse_loss(nn.Sequential(*stages)(inputs), targets)


def test_gradients_are_those_of_the_whole_model(group):
    stages, (inputs, targets) = make_stages(group), make_batch(group)
    expected = whole_loss(stages, inputs, targets)
    wanted = torch.autograd.grad(expected, list(stages[group.rank].parameters()))
    loss = Pipeline(group, stages[group.rank], nn.functional.mse_loss, 2).train_step(BATCH, inputs, targets)
    for parameter, gradient in zip(stages[group.rank].parameters(), wanted):
        torch.testing.assert_close(parameter.grad, gradient)
    if group.rank == group.world_size - 1:
        torch.testing.assert_close(loss, expected.detach())
    else:
        assert loss is None


def test_steps_without_zero_grad_add_up(group):
    stages, (inputs, targets) = make_stages(group), make_batch(group)
    pipeline = Pipeline(group, stages[group.rank], nn.functional.mse_loss, 4)
    pipeline.train_step(BATCH, inputs, targets)
    once = [parameter.grad.clone() for parameter in stages[group.rank].parameters()]
    pipeline.train_step(BATCH, inputs, targets)
    for parameter, gradient in zip(stages[group.rank].parameters(), once):
        torch.testing.assert_close(parameter.grad, 2 * gradient)


@pytest.mark.parametrize("training", [True, False])
def test_evaluation_changes_nothing(group, training):
    stages, (inputs, targets) = make_stages(group), make_batch(group)
    module = stages[group.rank].train(training)
    loss = Pipeline(group, module, nn.functional.mse_loss, 2).eval_step(BATCH, inputs, targets)
    assert module.training is training
    assert all(parameter.grad is None for parameter in module.parameters())
    if group.rank == group.world_size - 1:
        torch.testing.assert_close(loss, whole_loss(stages, inputs, targets).detach())


def test_a_batch_of_nothing_is_refused(group):
    pipeline = Pipeline(group, make_stages(group)[group.rank], nn.functional.mse_loss, 2)
    with pytest.raises(ValueError, match="0 samples"):
        pipeline.train_step(0)
