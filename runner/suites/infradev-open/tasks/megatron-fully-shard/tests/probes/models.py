"""Small models, the same on every rank, and the training that a sharded one is compared with."""

import torch
from torch import nn

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental import Flat, Placements, fully_shard


def flat():
    return Placements(dp_axes=[0], parameter=[Flat()], gradient=[Flat()], optimizer=[Flat()])


class Layered(nn.Module):
    """Three units whose shapes do not divide by the number of ranks; one has fewer rows than four ranks."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.first = nn.Linear(6, 7, dtype=dtype)
        self.second = nn.Sequential(nn.Linear(7, 5, dtype=dtype), nn.Tanh(), nn.Linear(5, 3, dtype=dtype))
        self.scale = nn.Parameter(torch.full((3,), 0.5, dtype=dtype))

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))) * self.scale


def layered(ranks, dtype=torch.float32, seed=7):
    torch.manual_seed(seed)
    return Layered(dtype).to(ranks.device)


def shard_units(model, ranks, **options):
    """The two inner units first, then the model with what is left."""
    mesh = ranks.mesh()
    for module in (model.first, model.second, model):
        fully_shard(module, mesh=mesh, placements=flat(), **options)
    return model


def batch_of(ranks, rank, rows=4, step=0, dtype=torch.float32):
    """The batch of one rank: every rank has another."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(rows, 6, generator=generator).to(ranks.device, dtype)


def whole(ranks, parameter):
    """A sharded parameter, put together from the shards of all ranks in their order."""
    parts = ranks.everywhere(parameter.to_local().detach().cpu())
    return torch.cat(parts).to(ranks.device)
