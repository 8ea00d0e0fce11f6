"""Requirements of the bounded schedule, on two ranks."""

import gc

import pytest
import torch
from infradev_report import check_resource, checks
from pipeline_cases import RecordedStage, Transfers, gradients, make_batch, make_stages, whole_model
from torch import nn

from torchfleet.pipeline import Pipeline

mse_loss = nn.functional.mse_loss


def test_each_stage_holds_no_more_than_the_stages_from_it_on(group):
    stage = make_stages(group)[group.rank]
    Pipeline(group, stage, mse_loss, 2).train_step(24, *make_batch(group, 24, 6))
    allowed = group.world_size - group.rank
    with checks("resource.memory"):
        check_resource("microbatches_in_flight", value=stage.record.peak_in_flight, limit=allowed, unit="microbatches")


def test_activations_are_let_go_of_with_their_backward_pass(group):
    stage = make_stages(group)[group.rank]
    Pipeline(group, stage, mse_loss, 2).train_step(24, *make_batch(group, 24, 6))
    allowed = group.world_size - group.rank
    with checks("resource.memory"):
        check_resource("outputs_alive", value=stage.record.peak_alive["outputs"], limit=allowed, unit="microbatches")
        if group.rank > 0:
            check_resource("inputs_alive", value=stage.record.peak_alive["inputs"], limit=allowed, unit="microbatches")


def test_a_smaller_last_microbatch_weighs_less(group):
    stages, (inputs, targets) = make_stages(group), make_batch(group, 9, 6)
    loss, wanted = whole_model(stages, inputs, targets, group.rank)
    pipeline = Pipeline(group, stages[group.rank], mse_loss, 4)
    evaluated = pipeline.eval_step(9, inputs, targets)
    trained = pipeline.train_step(9, inputs, targets)
    with checks("value"):
        for gradient, expected in zip(gradients(stages[group.rank]), wanted):
            torch.testing.assert_close(gradient, expected)
        if group.rank == group.world_size - 1:
            torch.testing.assert_close(trained, loss)
            torch.testing.assert_close(evaluated, loss)


class Turned(nn.Module):
    """A linear layer over bfloat16 whose result is a view with other strides."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, dtype=torch.bfloat16)

    def forward(self, inputs):
        return self.linear(inputs).transpose(1, 2)


def test_activations_arrive_as_they_left(group):
    torch.manual_seed(7)
    stages = [RecordedStage(layer=Turned(5)).to(group.device) for _ in range(group.world_size)]
    inputs, targets = (tensor.bfloat16() for tensor in make_batch(group, 6, 5, 5))
    _, wanted = whole_model(stages, inputs, targets, group.rank)
    Pipeline(group, stages[group.rank], mse_loss, 2).train_step(6, inputs, targets)
    with checks("shape-layout-dtype"):
        assert stages[group.rank].record.dtypes == [torch.bfloat16] * 3
        for gradient, expected in zip(gradients(stages[group.rank]), wanted):
            torch.testing.assert_close(gradient, expected, rtol=0.05, atol=1e-3)


def test_each_activation_travels_once_and_in_its_own_dtype(group):
    width, count = 512, 6
    layers = [nn.Linear(width, width, dtype=torch.bfloat16) for _ in range(group.world_size)]
    stage = RecordedStage(layer=layers[group.rank]).to(group.device)
    inputs, targets = (tensor.bfloat16() for tensor in make_batch(group, 4 * count, width))
    pipeline = Pipeline(group, stage, mse_loss, 4)
    with Transfers() as transfers:
        pipeline.train_step(4 * count, inputs, targets)
    needed = count * 4 * width * 2
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=transfers.nbytes, limit=needed + 256 * count, unit="bytes")


def test_evaluation_between_steps_leaves_nothing_behind(group):
    stages = make_stages(group)
    stage = stages[group.rank]
    inputs, targets = make_batch(group, 16, 6)
    _, wanted = whole_model(stages, inputs, targets, group.rank)
    pipeline = Pipeline(group, stage, mse_loss, 2)
    pipeline.train_step(16, inputs, targets)
    stage.record.peak_alive["outputs"] = 0
    pipeline.eval_step(16, inputs, targets)
    alive, peak = stage.record.alive("outputs"), stage.record.peak_alive["outputs"]
    pipeline.train_step(16, inputs, targets)
    with checks("state-lifecycle"):
        assert alive == 0, f"{alive} outputs are held after the evaluation"
        assert peak == 1, f"{peak} outputs were held at once during the evaluation"
        for gradient, expected in zip(gradients(stage), wanted):
            torch.testing.assert_close(gradient, 2 * expected)


def test_batches_may_change_from_step_to_step(group):
    stages = make_stages(group)
    stage = stages[group.rank]
    pipeline = Pipeline(group, stage, mse_loss, 2)
    wanted = [torch.zeros_like(parameter) for parameter in stage.parameters()]
    for shape in ((6, 6), (2, 3, 6), (11, 5, 6), (3, 6)):
        inputs, targets = make_batch(group, *shape)
        _, added = whole_model(stages, inputs, targets, group.rank)
        wanted = [total + gradient for total, gradient in zip(wanted, added)]
        pipeline.train_step(shape[0], inputs, targets)
    with checks("state-lifecycle"):
        for gradient, expected in zip(gradients(stage), wanted):
            torch.testing.assert_close(gradient, expected)


class NoLoss(RuntimeError):
    """Stands for whatever goes wrong on one stage in the middle of a step."""


@pytest.mark.parametrize("group", [5.0], indirect=True, ids=["short-time-out"])
def test_a_step_that_fails_leaves_nothing_behind(group):
    stage = make_stages(group)[group.rank]
    fails = False

    def loss_fn(outputs, targets):
        if fails:
            raise NoLoss
        return mse_loss(outputs, targets)

    pipeline = Pipeline(group, stage, loss_fn, 2)
    batch = make_batch(group, 12, 6)
    # NCCL connects two ranks in their first transfer, and waits for the other one without a time-out
    pipeline.train_step(12, *batch)
    fails, failed = True, False
    try:
        pipeline.train_step(12, *batch)
    except RuntimeError:
        failed = True
    gc.collect()
    alive = stage.record.alive("outputs")
    with checks("condition"):
        assert failed, "the first stage does not notice that the last one is lost"
    with checks("state-lifecycle"):
        assert alive == 0, f"{alive} outputs are held after the failed step"
