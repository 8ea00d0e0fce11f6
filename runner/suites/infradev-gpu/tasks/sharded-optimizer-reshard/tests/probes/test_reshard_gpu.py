"""GPU memory of a load. Run on two ranks with a GPU at least."""

import pytest
import torch
from infradev_report import check_resource, checks
from trainers import make_trainer

from torchfleet.checkpoint import load_checkpoint, save_checkpoint

SIZES = {"width": 1024, "heads": 8, "blocks": 4, "length": 8, "vocabulary": 16}
MIB = 1024 * 1024


@pytest.mark.skipif(not torch.cuda.is_available(), reason="measures GPU memory")
def test_gpu_memory_of_a_load(group, shared_dir):
    own = group.alone()
    if group.rank == 0:
        save_checkpoint(shared_dir / "state", make_trainer(own, torch.bfloat16, SIZES))
    group.barrier()
    trainer = make_trainer(group, torch.bfloat16, SIZES)
    optimizer = trainer.optimizer
    torch.cuda.synchronize(group.device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(group.device)
    before = torch.cuda.memory_allocated(group.device)
    load_checkpoint(shared_dir / "state", trainer)
    torch.cuda.synchronize(group.device)
    grown = torch.cuda.max_memory_allocated(group.device) - before
    # a copy of the own state; the new parameters as they are sent, received and joined, in their own dtype
    allowed = 3 * optimizer.master.nbytes + 10 * optimizer.layout.numel
    with checks("resource.memory"):
        check_resource("peak_of_a_load", value=grown / MIB, limit=allowed / MIB, unit="MiB")
