"""Optimizers, and their state sharded over the ranks."""

from __future__ import annotations

from math import sqrt
from typing import Mapping, Protocol

from ..comm import Group
from ..tensor import Tensor
from .layout import FlatLayout


class Rule(Protocol):
    """How an optimizer changes parameters; it keeps nothing itself, its state is in `slots`."""

    name: str
    slot_names: tuple[str, ...]

    def update(self, master: Tensor, gradient: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        """Change `master` and `slots` in place; all are flat and equally long; `steps` counts from 1."""


class SGD:
    """Stochastic gradient descent with momentum."""

    name = "sgd"
    slot_names = ("momentum",)

    def __init__(self, lr: float, momentum: float = 0.9) -> None:
        self.lr = lr
        self.momentum = momentum

    def update(self, master: Tensor, gradient: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        """See Rule."""
        momentum = slots["momentum"].map_(lambda m, g: self.momentum * m + g, gradient)
        master.add_(momentum, -self.lr)


class Adam:
    """Adam with bias correction."""

    name = "adam"
    slot_names = ("first", "second")

    def __init__(self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        self.lr = lr
        self.betas = betas
        self.eps = eps

    def update(self, master: Tensor, gradient: Tensor, slots: Mapping[str, Tensor], steps: int) -> None:
        """See Rule."""
        beta1, beta2 = self.betas
        scale1, scale2 = 1 - beta1**steps, 1 - beta2**steps
        first = slots["first"].map_(lambda m, g: beta1 * m + (1 - beta1) * g, gradient)
        second = slots["second"].map_(lambda v, g: beta2 * v + (1 - beta2) * g * g, gradient)
        master.map_(lambda p, m, v: p - self.lr * (m / scale1) / (sqrt(v / scale2) + self.eps), first, second)


class ShardedOptimizer:
    """One rank's shard of the optimizer: master parameters and slots in `f8`, for the range that the rank owns.

    `master` is the shard of the parameters in double precision; the model's own parameters are its rounded copy.
    `slots` maps the rule's slot names to flat tensors as long as `master`. `steps` counts the steps taken.
    """

    def __init__(self, rule: Rule, layout: FlatLayout, parameters: Mapping[str, Tensor], group: Group) -> None:
        """Take the initial master parameters from `parameters`, which every rank holds in full."""
        self.rule = rule
        self.layout = layout
        self.group = group
        self.start, self.stop = layout.shard_bounds(group.rank, group.world_size)
        self.master = layout.gather(parameters, self.start, self.stop, Tensor.zeros(self.stop - self.start))
        self.slots = {name: Tensor.zeros(self.stop - self.start) for name in rule.slot_names}
        self.steps = 0

    def step(self, parameters: Mapping[str, Tensor], gradients: Mapping[str, Tensor]) -> None:
        """Take one step with the reduced `gradients` and bring every rank's `parameters` up to date."""
        gradient = self.layout.gather(gradients, self.start, self.stop, Tensor.zeros(self.stop - self.start))
        self.steps += 1
        self.rule.update(self.master, gradient, self.slots, self.steps)
        self.publish(parameters)

    def publish(self, parameters: Mapping[str, Tensor]) -> None:
        """Write every rank's master shard, rounded to the parameters' dtype, into `parameters`, on every rank."""
        dtype = next(iter(parameters.values())).dtype
        for rank, shard in enumerate(self.group.all_gather(self.master.to(dtype))):
            self.layout.scatter(shard, self.layout.shard_bounds(rank, self.group.world_size)[0], parameters)
