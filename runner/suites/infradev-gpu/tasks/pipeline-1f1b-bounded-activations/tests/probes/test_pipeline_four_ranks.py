"""Requirements of the bounded schedule, on four ranks."""

import pytest
import torch
from infradev_report import checks
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
