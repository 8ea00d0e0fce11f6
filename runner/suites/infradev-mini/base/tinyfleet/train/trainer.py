"""Data-parallel training: each rank computes the gradients of its part of the global batch."""

from __future__ import annotations

import random
from math import fsum, sqrt

from ..comm import Group
from ..tensor import Tensor
from .data import Regression, SampleStream
from .layout import FlatLayout
from .model import MLP
from .optim import Rule, ShardedOptimizer


class Trainer:
    """Trains one replica of the model on each rank of `group`.

    The result does not depend on the number of ranks, except for rounding: samples and noise are drawn for the global
    batch on every rank, and each rank takes its part.
    """

    def __init__(
        self,
        model: MLP,
        rule: Rule,
        dataset: Regression,
        group: Group,
        *,
        batch_size: int,
        seed: int = 0,
        accumulation: int = 1,
        noise: float = 0.0,
        max_norm: float | None = None,
    ) -> None:
        """Set up training of `model`, which is the same on every rank.

        A step takes `accumulation` global batches of `batch_size` samples. `noise` is the standard deviation of what
        is added to the inputs. Gradients with a Euclidean norm over `max_norm` are scaled down to it.
        """
        self.model = model
        self.dataset = dataset
        self.group = group
        self.accumulation = accumulation
        self.noise = noise
        self.max_norm = max_norm
        self.layout = FlatLayout({name: p.shape for name, p in model.parameters.items()})
        self.optimizer = ShardedOptimizer(rule, self.layout, model.parameters, group)
        self.stream = SampleStream(len(dataset), batch_size, seed)
        self.gradient_norm = 0.0
        self._noise_rng = random.Random(f"noise-{seed}")

    def _next_rows(self) -> tuple[list[list[float]], list[list[float]]]:
        """This rank's inputs, with noise, and targets of the next global batch."""
        indices = self.stream.next_batch()
        inputs = [list(self.dataset.inputs[index]) for index in indices]
        if self.noise:
            inputs = [[x + self._noise_rng.gauss(0, self.noise) for x in row] for row in inputs]
        size = -(-len(indices) // self.group.world_size)
        own = slice(self.group.rank * size, (self.group.rank + 1) * size)
        return inputs[own], [self.dataset.targets[index] for index in indices[own]]

    def reduce_gradients(self) -> None:
        """Add up the gradients over the ranks, so that every rank has all of the global batch's gradients."""
        for gradient in self.model.gradients.values():
            self.group.all_reduce(gradient)

    def clip_gradients(self) -> None:
        """Set `gradient_norm` to the norm of the reduced gradients, and scale them down if it exceeds `max_norm`."""
        gradients = self.model.gradients.values()
        self.gradient_norm = sqrt(fsum(g * g for gradient in gradients for g in gradient.elements()))
        if self.max_norm is not None and self.gradient_norm > self.max_norm:
            for gradient in gradients:
                gradient.mul_(self.max_norm / self.gradient_norm)

    def train_step(self) -> float:
        """One optimizer step; returns the mean loss over the global batches, the same on every rank."""
        self.model.zero_gradients()
        scale = 1 / (self.stream.batch_size * self.accumulation)
        loss = 0.0
        for _ in range(self.accumulation):
            inputs, targets = self._next_rows()
            loss += self.model.accumulate_gradients(inputs, targets, scale)
        self.reduce_gradients()
        self.clip_gradients()
        self.optimizer.step(self.model.parameters, self.model.gradients)
        return self.group.all_reduce(Tensor.of([loss]))[0]
