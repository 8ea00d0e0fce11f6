"""Memory of GPUs, on two ranks that have one each or share one."""

import torch
from infradev_report import check_resource, checks
from pipeline_cases import RecordedStage, make_batch
from torch import nn

from torchfleet.pipeline import Pipeline

MIB = 2**20
WIDTH, ROWS, FEW, MANY = 1024, 1024, 8, 64  # an activation has 4 MiB; a microbatch in flight keeps some 136 MiB


def test_memory_of_the_gpu(group):
    """The allocator says what more microbatches add; what the GPU itself holds is measured from outside."""
    wide = nn.Sequential(nn.Linear(WIDTH, 16 * WIDTH), nn.GELU(), nn.Linear(16 * WIDTH, WIDTH))
    stage = RecordedStage(layer=wide).to(group.device)
    pipeline = Pipeline(group, stage, nn.functional.mse_loss, ROWS)

    def peak_of_a_step(count):
        inputs, targets = (tensor.expand(ROWS * count, WIDTH) for tensor in make_batch(group, 1, WIDTH))
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        pipeline.train_step(ROWS * count, inputs, targets)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    peak_of_a_step(FEW)  # gradients and workspaces, which stay
    few = peak_of_a_step(FEW)
    many = peak_of_a_step(MANY)
    with checks("value"):
        assert stage.record.sizes == [ROWS] * (2 * FEW + MANY)
    with checks("resource.memory"):
        check_resource("allocated_by_more_microbatches", value=(many - few) / MIB, limit=32, unit="MiB")
