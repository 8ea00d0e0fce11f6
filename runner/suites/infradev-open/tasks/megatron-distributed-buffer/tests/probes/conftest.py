"""Ranks on a GPU each where the launch has as many, else on CPU; and a meter for what a call sends and allocates."""

import os
from dataclasses import dataclass

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True)
class Ranks:
    rank: int
    world: int
    device: torch.device

    def mesh(self, *shape):
        return init_device_mesh(self.device.type, shape or (self.world,))

    def everywhere(self, value):
        """The values that all ranks have, in the order of the ranks."""
        values = [None] * self.world
        dist.all_gather_object(values, value)
        return values


@pytest.fixture(scope="session")
def ranks():
    if torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"]):
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        device, backend = torch.device("cuda", torch.cuda.current_device()), "nccl"
    else:
        device, backend = torch.device("cpu"), "gloo"
    dist.init_process_group(backend)
    yield Ranks(dist.get_rank(), dist.get_world_size(), device)
    dist.destroy_process_group()


@pytest.fixture(autouse=True)
def together(ranks):
    """No rank begins a test before every rank has ended the one before."""
    dist.barrier()


def _storages(values):
    found = {}
    for tensor in tree_leaves(values):
        if isinstance(tensor, torch.Tensor) and type(tensor) in (torch.Tensor, torch.nn.Parameter):
            storage = tensor.untyped_storage()
            found[storage._cdata] = storage.nbytes()
    return found


class Meter(TorchDispatchMode):
    """Sees each operation below autograd: bytes that collectives send from this rank, and bytes that are allocated.

    A backward pass is seen where autograd runs it in the caller's thread, as it does on CPU and where
    `torch.autograd.set_multithreading_enabled(False)` holds.

    What a collective sends is what its ring sends: reduce-scatter (n-1)/n of its input, all-gather n-1 times its input,
    all-reduce twice (n-1)/n; anything else the bytes of its tensors.
    """

    def __init__(self, world):
        super().__init__()
        self.world = world
        self.sent_bytes = 0.0
        self.allocated_bytes = 0
        self.collectives = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        before = _storages((args, kwargs))
        result = function(*args, **kwargs)
        name = function._schema.name
        if name.startswith(("c10d::", "_c10d_functional::")):
            self._count(name.rpartition("::")[2], args)
        else:
            for storage, size in _storages(result).items():
                if storage not in before:
                    self.allocated_bytes += size
        return result

    def _count(self, name, args):
        if "barrier" in name or "wait" in name:
            return
        sizes = [[t.nbytes for t in tree_leaves(arg) if isinstance(t, torch.Tensor)] for arg in args]
        sizes = [size for size in sizes if size]
        if not sizes:
            return
        n = self.world
        if "reduce_scatter" in name:
            sent = max(sum(size) for size in sizes) * (n - 1) / n
        elif "allgather" in name or "all_gather" in name:
            sent = min(sum(size) for size in sizes) * (n - 1)
        elif "allreduce" in name or "all_reduce" in name:
            sent = 2 * sum(sizes[0]) * (n - 1) / n
        else:
            sent = sum(sizes[0])
        self.collectives.append(name)
        self.sent_bytes += sent


@pytest.fixture
def meter(ranks):
    return Meter(ranks.world)
