"""In which order a stage works through its microbatches."""

from __future__ import annotations

import torch
from torch import Tensor

from .links import Links
from .stage import Stage


def run_training(
    stage: Stage, links: Links, inputs: list[Tensor] | None, targets: list[Tensor] | None, sizes: list[int]
) -> list[Tensor]:
    """Forward and backward passes of all microbatches. Returns the losses on the last stage, in their order.

    All forward passes come first, so each stage holds every microbatch of the batch in between.
    """
    outputs = _run_forward(stage, links, inputs, targets, sizes)
    for index, output in enumerate(outputs):
        gradient = torch.full_like(output, 1 / len(sizes)) if links.is_last else links.receive_backward(output)
        gradient = stage.backward(index, gradient)
        if not links.is_first:
            links.send_backward(gradient)
    stage.clear()
    return [output.detach() for output in outputs] if links.is_last else []


def run_evaluation(
    stage: Stage, links: Links, inputs: list[Tensor] | None, targets: list[Tensor] | None, sizes: list[int]
) -> list[Tensor]:
    """Forward passes only. Returns the losses on the last stage, in their order."""
    outputs = _run_forward(stage, links, inputs, targets, sizes)
    stage.clear()
    return outputs if links.is_last else []


def _run_forward(
    stage: Stage, links: Links, inputs: list[Tensor] | None, targets: list[Tensor] | None, sizes: list[int]
) -> list[Tensor]:
    outputs = []
    for index in range(len(sizes)):
        received = inputs[index] if links.is_first else links.receive_forward()
        output = stage.forward(index, received, targets[index] if links.is_last else None)
        if not links.is_last:
            links.send_forward(output)
        outputs.append(output)
    return outputs
