"""Adam whose state is sharded over the ranks of a group, as in ZeRO's first stage (arXiv 1910.02054)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from torchfleet.dist import Group
from torchfleet.layout import FlatLayout


class ShardedAdam:
    """Each rank keeps float32 ``master`` weights, ``mean`` and ``square`` of its shard of the flat parameters.

    The learning rate rises to ``lr`` over the first ``warmup`` steps. Parameters are the same on every rank, of one
    dtype; their gradients are averaged over the group.
    """

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        group: Group,
        lr: float = 1e-2,
        betas: tuple[float, float] = (0.9, 0.95),
        eps: float = 1e-5,
        warmup: int = 4,
    ) -> None:
        self.parameters = dict(parameters)
        self.group = group
        self.lr = lr
        self.betas = betas
        self.eps = eps
        self.warmup = warmup
        self.steps = 0
        self.layout = FlatLayout({name: tuple(parameter.shape) for name, parameter in self.parameters.items()})
        self.start, self.stop = self.layout.shard_bounds(group.rank, group.world_size)
        self.master = self.layout.gather(self.parameters, self._empty(self.stop - self.start), self.start)
        self.mean = torch.zeros_like(self.master)
        self.square = torch.zeros_like(self.master)

    def _empty(self, numel: int) -> Tensor:
        return torch.empty(numel, dtype=torch.float32, device=self.group.device)

    def step(self) -> None:
        """Averages the gradients, moves the shard, and gives every rank the new parameters."""
        ranks = self.group.world_size
        gradients = {
            name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            for name, parameter in self.parameters.items()
        }
        flat = self.layout.gather(gradients, self._empty(ranks * self.layout.shard_size(ranks)))
        gradient = self.group.reduce_scatter(flat)[: self.master.numel()] / ranks
        self.steps += 1
        first, second = self.betas
        self.mean.lerp_(gradient, 1 - first)
        self.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        rate = self.lr * min(1.0, self.steps / self.warmup)
        scale = (self.square / (1 - second**self.steps)).sqrt_().add_(self.eps)
        self.master.addcdiv_(self.mean, scale, value=-rate / (1 - first**self.steps))
        self.publish()

    def publish(self) -> None:
        """Gives every rank the parameters that follow from the master weights of all shards."""
        size = self.layout.shard_size(self.group.world_size)
        own = nn.functional.pad(self.master, (0, size - self.master.numel()))
        dtype = next(iter(self.parameters.values())).dtype
        whole = self.group.all_gather(own.to(dtype))
        self.layout.scatter(whole[: self.layout.numel], self.parameters)

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None
