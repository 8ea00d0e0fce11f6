"""How long a step takes, on four ranks. The grader holds the clock."""

import torch
from infradev_report import checks
from pipeline_cases import gradients, make_batch, make_stages, whole_model
from torch import nn

from torchfleet.pipeline import Pipeline


def test_stages_work_at_the_same_time(group):
    count = 16
    stages = make_stages(group, seconds=0.02)
    stage = stages[group.rank]
    inputs, targets = make_batch(group, count, 6)
    _, wanted = whole_model(stages, inputs, targets, group.rank)
    Pipeline(group, stage, nn.functional.mse_loss, 1).train_step(count, inputs, targets)
    with checks("value"):
        for gradient, expected in zip(gradients(stage), wanted):
            torch.testing.assert_close(gradient, expected)
