"""A multi-layer perceptron with a hand-written backward pass."""

from __future__ import annotations

import random
from math import sqrt, tanh
from typing import Sequence

from ..tensor import Tensor

Rows = Sequence[Sequence[float]]


class MLP:
    """Linear layers with tanh between them and a mean squared error on top.

    `parameters` and `gradients` map `layers.<i>.weight` (outputs x inputs) and `layers.<i>.bias` (outputs) to tensors
    of `dtype`. Arithmetic is done in double precision and rounded where a tensor is written.
    """

    def __init__(self, sizes: Sequence[int], seed: int = 0, dtype: str = "f8") -> None:
        """Initialize weights from `seed`: the same on every rank. `sizes` are the layers' widths, inputs first."""
        if len(sizes) < 2:
            raise ValueError(f"an MLP needs the sizes of inputs and outputs at least, not {list(sizes)}")
        rng = random.Random(seed)
        self.sizes = tuple(sizes)
        self.dtype = dtype
        self.parameters: dict[str, Tensor] = {}
        for layer, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
            weight = Tensor.zeros((fan_out, fan_in), dtype)
            weight.map_(lambda _, bound=1 / sqrt(fan_in): rng.uniform(-bound, bound))
            self.parameters[f"layers.{layer}.weight"] = weight
            self.parameters[f"layers.{layer}.bias"] = Tensor.zeros(fan_out, dtype)
        self.gradients = {name: Tensor.zeros(p.shape, dtype) for name, p in self.parameters.items()}

    @property
    def num_layers(self) -> int:
        """Number of linear layers."""
        return len(self.sizes) - 1

    def zero_gradients(self) -> None:
        """Set every gradient to zero."""
        for gradient in self.gradients.values():
            gradient.fill_(0)

    def _activations(self, inputs: Rows) -> list[list[list[float]]]:
        """The inputs of every layer, and last the outputs, each as rows by sample."""
        activations = [[list(row) for row in inputs]]
        for layer in range(self.num_layers):
            weight = self.parameters[f"layers.{layer}.weight"].tolist()
            bias = self.parameters[f"layers.{layer}.bias"].tolist()
            rows = []
            for row in activations[-1]:
                out = [b + sum(w * x for w, x in zip(ws, row)) for ws, b in zip(weight, bias)]
                rows.append(out if layer == self.num_layers - 1 else [tanh(value) for value in out])
            activations.append(rows)
        return activations

    def forward(self, inputs: Rows) -> list[list[float]]:
        """Outputs, one row for each row of inputs."""
        return self._activations(inputs)[-1]

    def accumulate_gradients(self, inputs: Rows, targets: Rows, scale: float) -> float:
        """Add the gradients of `scale` times the summed squared error; return that scaled sum.

        The sum is over samples and outputs. With `scale = 1 / (samples in the global batch)`, adding the ranks'
        gradients gives the gradient of the mean over the global batch. No rows add nothing.
        """
        activations = self._activations(inputs)
        errors = [[o - t for o, t in zip(out, target)] for out, target in zip(activations[-1], targets)]
        loss = scale * sum(error * error for row in errors for error in row)
        deltas = [[2 * scale * error for error in row] for row in errors]
        for layer in reversed(range(self.num_layers)):
            rows = activations[layer]
            weight = self.parameters[f"layers.{layer}.weight"]
            fan_out, fan_in = weight.shape
            by_output = list(zip(*deltas)) or [()] * fan_out
            by_input = list(zip(*rows)) or [()] * fan_in
            self.gradients[f"layers.{layer}.weight"].add_(
                Tensor.of([[sum(d * x for d, x in zip(ds, xs)) for xs in by_input] for ds in by_output])
            )
            self.gradients[f"layers.{layer}.bias"].add_(Tensor.of([sum(ds) for ds in by_output]))
            if layer:
                columns = weight.transpose().tolist()
                deltas = [
                    [sum(w * d for w, d in zip(ws, delta)) * (1 - x * x) for ws, x in zip(columns, row)]
                    for delta, row in zip(deltas, rows)
                ]
        return loss
