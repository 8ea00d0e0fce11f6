"""Time of loads, compared with the reference's by the grader's clock. Run on two ranks."""

import pytest
import torch
from trainers import make_trainer

from torchfleet.checkpoint import load_checkpoint, save_checkpoint
from torchfleet.dist import init_group

SIZES = {"width": 96, "heads": 4, "blocks": 8, "length": 8, "vocabulary": 16}


@pytest.fixture
def group(monkeypatch, request):
    """On the CPU: a load's time is that of its files, and each of many launches would wait for GPUs to start."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    torch.manual_seed(0)
    opened = init_group(name=request.node.nodeid, timeout_s=10.0)
    yield opened
    opened.close()


@pytest.fixture
def saved(group, shared_dir):
    save_checkpoint(shared_dir / "state", make_trainer(group, torch.bfloat16, SIZES))
    other = make_trainer(group, torch.bfloat16, SIZES)
    load_checkpoint(shared_dir / "state", other)
    return other


def test_loads_take_the_time_of_reading(saved, shared_dir):
    for _ in range(4):
        load_checkpoint(shared_dir / "state", saved)
    assert saved.optimizer.steps == 0
    assert (shared_dir / "state").is_dir(), "one file of all ranks is no checkpoint in shards"
