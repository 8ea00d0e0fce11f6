"""Requirements of the bounded schedule, on four ranks."""

import time

import pytest
import torch
from infradev_report import check_resource, checks
from pipeline_cases import gradients, make_batch, make_stages, whole_model
from torch import nn

from torchfleet.pipeline import Pipeline

mse_loss = nn.functional.mse_loss


@pytest.mark.parametrize("batch_size", [1, 2, 5, 6, 7, 15])
def test_any_number_of_microbatches(group, batch_size):
    stages, (inputs, targets) = make_stages(group), make_batch(group, batch_size, 6)
    stage = stages[group.rank]
    loss, wanted = whole_model(stages, inputs, targets, group.rank)
    trained = Pipeline(group, stage, mse_loss, 2).train_step(batch_size, inputs, targets)
    count = (batch_size + 1) // 2
    with checks("condition"):
        assert len(stage.record.sizes) == count
        assert stage.record.peak_in_flight <= min(count, group.world_size - group.rank)
        for gradient, expected in zip(gradients(stage), wanted):
            torch.testing.assert_close(gradient, expected)
        if group.rank == group.world_size - 1:
            torch.testing.assert_close(trained, loss)


def test_stages_work_at_the_same_time(group):
    """Passes sleep, so that stages that share a core or a GPU can overlap; a busy host gets three attempts."""
    count, pass_s, limit = 8, 0.04, 1.8
    needed_s = 2 * (count + group.world_size - 1) * pass_s  # a stage's own passes, and filling and draining
    stage = make_stages(group, seconds=pass_s)[group.rank]
    batch = make_batch(group, count, 6)
    pipeline = Pipeline(group, stage, mse_loss, 1)
    ratios = []
    while not ratios or (min(ratios) > limit and len(ratios) < 3):
        group.barrier()
        began = time.monotonic()
        pipeline.train_step(count, *batch)
        ratios.append(max(group.gather_objects(time.monotonic() - began)) / needed_s)
    with checks("value"):
        assert stage.record.sizes == [1] * count * len(ratios)
    with checks("resource.speed"):
        check_resource("step_time", value=min(ratios), limit=limit, unit="ratio")
