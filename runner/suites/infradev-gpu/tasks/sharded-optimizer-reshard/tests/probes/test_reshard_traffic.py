"""Traffic of a save, counted from outside of the four ranks."""

import torch
from trainers import LARGE, make_trainer

from torchfleet.checkpoint import save_checkpoint


def test_a_save_sends_nothing(group, shared_dir):
    trainer = make_trainer(group, torch.bfloat16, LARGE)
    save_checkpoint(shared_dir / "state", trainer)
    files = [file for file in (shared_dir / "state").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) >= 3 * 4 * trainer.optimizer.layout.numel
