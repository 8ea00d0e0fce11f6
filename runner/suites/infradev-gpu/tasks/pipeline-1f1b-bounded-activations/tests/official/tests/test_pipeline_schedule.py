"""Pipelines that take forward and backward passes in turns. Run on two ranks or more."""

import pytest
import torch
from torch import nn

from torchfleet.pipeline import Pipeline

WIDTH = 6


class InFlight(torch.autograd.Function):
    """Passes a tensor on, and counts microbatches whose backward pass is still to come."""

    @staticmethod
    def forward(ctx, tensor, counts):
        ctx.counts = counts
        counts.append(counts[-1] + 1)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        ctx.counts.append(ctx.counts[-1] - 1)
        return gradient, None


class CountedStage(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.counts = [0]
        self.sizes = []

    def forward(self, inputs):
        self.sizes.append(len(inputs))
        return InFlight.apply(torch.tanh(self.linear(inputs)), self.counts)


def make_stages(group):
    torch.manual_seed(3)
    return [CountedStage().to(group.device) for _ in range(group.world_size)]


def make_batch(group, size):
    inputs, targets = torch.randn(2, size, WIDTH, generator=torch.Generator().manual_seed(4))
    return inputs.to(group.device), targets.to(group.device)


def test_gradients_are_those_of_the_whole_batch(group):
    stages, (inputs, targets) = make_stages(group), make_batch(group, 12)
    expected = nn.functional.mse_loss(nn.Sequential(*stages)(inputs), targets)
    wanted = torch.autograd.grad(expected, list(stages[group.rank].parameters()))
    loss = Pipeline(group, stages[group.rank], nn.functional.mse_loss, 2).train_step(12, inputs, targets)
    for parameter, gradient in zip(stages[group.rank].parameters(), wanted):
        torch.testing.assert_close(parameter.grad, gradient)
    if group.rank == group.world_size - 1:
        torch.testing.assert_close(loss, expected.detach())


def test_what_is_in_flight_does_not_grow_with_the_batch(group):
    peaks = []
    for batch_size in (8, 32):
        stage = make_stages(group)[group.rank]
        Pipeline(group, stage, nn.functional.mse_loss, 2).train_step(batch_size, *make_batch(group, batch_size))
        assert stage.counts[-1] == 0
        peaks.append(max(stage.counts))
    assert peaks[0] == peaks[1] < 4


def test_the_last_microbatch_takes_what_is_left(group):
    stage = make_stages(group)[group.rank]
    loss = Pipeline(group, stage, nn.functional.mse_loss, 4).train_step(10, *make_batch(group, 10))
    assert stage.sizes == [4, 4, 2]
    assert all(parameter.grad is not None for parameter in stage.parameters())
    assert (loss is not None) == (group.rank == group.world_size - 1)


def test_evaluation_is_that_of_the_whole_batch(group):
    stages, (inputs, targets) = make_stages(group), make_batch(group, 8)
    expected = nn.functional.mse_loss(nn.Sequential(*stages)(inputs), targets)
    loss = Pipeline(group, stages[group.rank], nn.functional.mse_loss, 2).eval_step(8, inputs, targets)
    assert all(parameter.grad is None for parameter in stages[group.rank].parameters())
    if group.rank == group.world_size - 1:
        torch.testing.assert_close(loss, expected.detach())


def test_training_makes_the_loss_smaller(group):
    stage = make_stages(group)[group.rank]
    pipeline = Pipeline(group, stage, nn.functional.mse_loss, 4)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.5)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        losses.append(pipeline.train_step(12, *make_batch(group, 12)))
        optimizer.step()
    if group.rank == group.world_size - 1:
        assert losses[-1] < 0.9 * losses[0]


def test_an_empty_batch_is_refused(group):
    pipeline = Pipeline(group, make_stages(group)[group.rank], nn.functional.mse_loss, 2)
    with pytest.raises(ValueError):
        pipeline.eval_step(0)
