"""Memory of a push on GPUs, on two ranks that have one each or share one."""

import torch
from infradev_report import check_resource, checks
from sync_cases import differing, make_weights, whole_weights

from torchfleet.weight_sync import WeightSync
from torchfleet.weights import TensorSpec

MIB = 2**20


def test_a_push_allocates_a_few_buckets(group):
    specs = [TensorSpec("w", (4096, 4096), torch.bfloat16, split_dim=0)]
    source, target = make_weights(group, specs, [0, 1], [1, 0])
    sync = WeightSync(group, specs, [0, 1], [1, 0], bucket_bytes=MIB)
    group.barrier()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    sync.push(source, target)
    peak = torch.cuda.max_memory_allocated() - before
    with checks("value"):
        assert not differing(target, whole_weights(specs))
    with checks("resource.memory"):
        check_resource("allocated_memory", value=peak / MIB, limit=8 * group.world_size + 1, unit="MiB")
