"""A group for each probe."""

import pytest
import torch

from torchfleet.dist import init_group


@pytest.fixture
def group(request):
    """Its time-out in seconds is the fixture's parameter, where a probe gives it one."""
    torch.manual_seed(0)
    opened = init_group(name=request.node.nodeid, timeout_s=getattr(request, "param", 20.0))
    yield opened
    opened.close()
