"""Memory of GPUs, on two ranks that have one each or share one."""

import torch
from infradev_report import check_resource, checks
from pipeline_cases import RecordedStage, make_batch, make_stages
from torch import nn

from torchfleet.pipeline import Pipeline

MIB = 2**20


def test_allocated_memory_does_not_grow_with_the_batch(group):
    width, rows, count = 1024, 1024, 24  # an activation has 4 MiB
    stage = make_stages(group, width)[group.rank]
    pipeline = Pipeline(group, stage, nn.functional.mse_loss, rows)
    pipeline.train_step(2 * rows, *make_batch(group, 2 * rows, width))
    inputs, targets = make_batch(group, count * rows, width)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    pipeline.train_step(count * rows, inputs, targets)
    peak = torch.cuda.max_memory_allocated() - before
    allowed = (3 * (group.world_size - group.rank) + 8) * rows * width * 4
    with checks("resource.memory"):
        check_resource("allocated_memory", value=peak / MIB, limit=allowed / MIB, unit="MiB")


def test_memory_of_the_gpu(group):
    width, rows, count = 4096, 4096, 48  # an activation has 64 MiB, the batch itself next to nothing
    stage = RecordedStage(width).to(group.device)
    inputs, targets = (tensor.expand(rows * count, width) for tensor in make_batch(group, 1, width))
    loss = Pipeline(group, stage, nn.functional.mse_loss, rows).train_step(rows * count, inputs, targets)
    torch.cuda.synchronize()
    with checks("value"):
        assert stage.record.sizes == [rows] * count
        assert group.rank < group.world_size - 1 or torch.isfinite(loss)
