"""Fixtures of the probes: every probe opens a group of its own, so that one failure leaves no trace in the next."""

from pathlib import Path

import pytest
import torch

from torchfleet.dist import init_group


@pytest.fixture
def group(request):
    """The group of all ranks that run this probe."""
    torch.manual_seed(0)
    opened = init_group(name=request.node.nodeid, timeout_s=10.0)
    yield opened
    opened.close()


@pytest.fixture
def shared_dir(group, tmp_path):
    """One directory for all ranks: rank 0's temporary directory."""
    return Path(group.broadcast_object(str(tmp_path), src=0))
