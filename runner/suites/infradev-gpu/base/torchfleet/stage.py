"""One rank's part of a pipeline: a module, and what its microbatches left behind until their backward pass."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

LossFunction = Callable[[Tensor, Tensor], Tensor]
"""Takes the last stage's output and the targets of the same samples; returns the mean over the samples."""


class Stage:
    """Runs ``module`` on one microbatch after the other and keeps the input and the output of each.

    ``loss_fn`` belongs to the last stage; the output of a microbatch is its loss there. The inputs of the first stage
    get no gradient.
    """

    def __init__(self, module: nn.Module, loss_fn: LossFunction | None, is_first: bool) -> None:
        self.module = module
        self.is_first = is_first
        self.loss_fn = loss_fn
        self._held: dict[int, tuple[Tensor, Tensor]] = {}

    def forward(self, index: int, received: Tensor, target: Tensor | None) -> Tensor:
        """The output of microbatch ``index``, which is held until its backward pass or ``clear``."""
        if torch.is_grad_enabled() and not self.is_first and received.is_floating_point():
            received.requires_grad_()
        output = self.module(received)
        if self.loss_fn is not None:
            output = self.loss_fn(output, target)
        self._held[index] = received, output
        return output

    def backward(self, index: int, gradient: Tensor) -> Tensor | None:
        """Adds to the gradients of the module's parameters; returns the gradient of the input, if it has one."""
        received, output = self._held[index]
        if output.requires_grad:
            torch.autograd.backward(output, gradient)
        return received.grad

    def clear(self) -> None:
        """Forgets every microbatch."""
        self._held.clear()
