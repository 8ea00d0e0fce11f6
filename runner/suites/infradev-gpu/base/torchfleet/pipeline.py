"""A model whose layers are spread over the ranks of a group, fed with microbatches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .dist import Group
from .links import Links
from .microbatch import microbatch_sizes, split_batch
from .schedule import run_evaluation, run_training
from .stage import LossFunction, Stage


class Pipeline:
    """Rank r of ``group`` runs stage r, which is ``module``; rank 0 takes the inputs, the last rank the targets.

    ``loss_fn`` gives the mean loss over the samples that it gets; it is needed on the last rank only. Every rank of the
    group makes the pipeline and calls its methods together.
    """

    def __init__(self, group: Group, module: nn.Module, loss_fn: LossFunction | None, microbatch_size: int) -> None:
        if microbatch_size < 1:
            raise ValueError(f"microbatch_size is {microbatch_size}; a microbatch has a sample at least")
        self.links = Links(group)
        self.microbatch_size = microbatch_size
        if self.links.is_last and loss_fn is None:
            raise ValueError("the last stage needs loss_fn")
        self.stage = Stage(module, loss_fn if self.links.is_last else None, self.links.is_first)

    def train_step(self, batch_size: int, inputs: Tensor | None = None, targets: Tensor | None = None) -> Tensor | None:
        """Adds the gradients of the mean loss over a batch to the module's parameters.

        ``inputs`` are needed on the first rank and ``targets`` on the last; both have ``batch_size`` samples along
        their first dimension. Returns the mean loss on the last rank, None elsewhere. ``ValueError`` on every rank
        where the batch does not divide into microbatches.
        """
        sizes, inputs, targets = self._microbatches(batch_size, inputs, targets)
        losses = run_training(self.stage, self.links, inputs, targets, sizes)
        return torch.stack(losses).mean() if self.links.is_last else None

    @torch.no_grad()
    def eval_step(self, batch_size: int, inputs: Tensor | None = None, targets: Tensor | None = None) -> Tensor | None:
        """The mean loss over a batch on the last rank, None elsewhere; the module runs in evaluation mode meanwhile."""
        sizes, inputs, targets = self._microbatches(batch_size, inputs, targets)
        was_training = self.stage.module.training
        self.stage.module.eval()
        try:
            losses = run_evaluation(self.stage, self.links, inputs, targets, sizes)
        finally:
            self.stage.module.train(was_training)
        return torch.stack(losses).mean() if self.links.is_last else None

    def _microbatches(
        self, batch_size: int, inputs: Tensor | None, targets: Tensor | None
    ) -> tuple[list[int], list[Tensor] | None, list[Tensor] | None]:
        sizes = microbatch_sizes(batch_size, self.microbatch_size)
        return (
            sizes,
            split_batch(inputs, sizes) if self.links.is_first else None,
            split_batch(targets, sizes) if self.links.is_last else None,
        )
