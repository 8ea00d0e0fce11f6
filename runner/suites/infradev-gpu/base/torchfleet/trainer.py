"""Training over data-parallel ranks."""

from __future__ import annotations

import torch

from torchfleet.data import TokenStream
from torchfleet.dist import Group
from torchfleet.model import Transformer
from torchfleet.optim import ShardedAdam


class Trainer:
    """Trains ``model`` on ``batch_size`` samples a step, shared out evenly over the ranks of the data group ``group``.

    Each rank goes through its part in ``micro_batches`` passes. Raises ``ValueError`` where samples cannot be shared
    out evenly.
    """

    def __init__(
        self,
        model: Transformer,
        group: Group,
        batch_size: int = 12,
        micro_batches: int = 1,
        lr: float = 1e-2,
        seed: int = 0,
    ) -> None:
        if batch_size % (group.world_size * micro_batches):
            raise ValueError(
                f"{batch_size} samples do not divide by {group.world_size} ranks with {micro_batches} passes"
            )
        self.model = model
        self.group = group
        self.batch_size = batch_size
        self.micro_batches = micro_batches
        self.data = TokenStream(model.config.vocabulary, model.config.length, group.rank, group.world_size, seed)
        self.optimizer = ShardedAdam(dict(model.named_parameters()), group, lr)

    def train_step(self) -> float:
        """One step; returns the mean loss over the global batch, the same on every rank."""
        samples = self.data.draw(self.batch_size // self.group.world_size).to(self.group.device)
        self.optimizer.zero_grad()
        total = torch.zeros((), dtype=torch.float64, device=self.group.device)
        for part in samples.chunk(self.micro_batches):
            loss = self.model.loss(part) / self.micro_batches
            loss.backward()
            total += loss.detach()
        self.optimizer.step()
        return self.group.all_reduce(total).item() / self.group.world_size
