"""GPU memory of sequence parallelism. Run on two ranks with a GPU at least."""

import pytest
import torch
from infradev_report import check_resource, checks

from torchfleet.layers import ColumnParallelLinear

MIB = 1024 * 1024


@pytest.mark.skipif(not torch.cuda.is_available(), reason="measures GPU memory")
def test_gpu_memory_of_many_layers(group):
    """The allocator says what stays for the way back; what the GPU itself holds is measured from outside."""
    weight, bias = torch.zeros(8, 4096, dtype=torch.bfloat16), torch.zeros(8, dtype=torch.bfloat16)
    layer = ColumnParallelLinear(weight, bias, group, sequence_parallel=True)

    def positions():
        return torch.zeros(4096, 2, 4096, dtype=torch.bfloat16, device=group.device).requires_grad_()

    layer(positions())  # workspaces, which stay
    torch.cuda.synchronize(group.device)
    before = torch.cuda.memory_allocated(group.device)
    own = positions()  # 64 MiB that every pass may keep, and nothing else
    outputs = [layer(own) for _ in range(48)]
    torch.cuda.synchronize(group.device)
    grown = torch.cuda.memory_allocated(group.device) - before - sum(out.nbytes for out in outputs)
    with checks("resource.memory"):
        check_resource("allocated_for_the_way_back", value=grown / MIB, limit=96, unit="MiB")
