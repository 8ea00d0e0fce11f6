"""What a step sends, on two ranks. The grader counts the bytes."""

import torch
from infradev_report import checks
from pipeline_cases import RecordedStage, make_batch
from torch import nn

from torchfleet.pipeline import Pipeline


def test_bytes_between_stages(group):
    rows, width, count = 64, 1024, 16
    stage = RecordedStage(layer=nn.Linear(width, width, dtype=torch.bfloat16)).to(group.device)
    inputs, targets = (tensor.bfloat16() for tensor in make_batch(group, rows * count, width))
    Pipeline(group, stage, nn.functional.mse_loss, rows).train_step(rows * count, inputs, targets)
    with checks("value"):
        assert stage.record.sizes == [rows] * count
