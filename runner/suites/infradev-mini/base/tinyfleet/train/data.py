"""A synthetic regression task, and the order in which its samples are drawn."""

from __future__ import annotations

import random
from math import sin


class Regression:
    """Samples of a smooth function of `num_inputs` numbers to `num_outputs` numbers, the same for the same seed."""

    def __init__(self, num_samples: int, num_inputs: int, num_outputs: int, seed: int = 0) -> None:
        rng = random.Random(f"regression-{seed}")
        self.inputs = [[rng.uniform(-1, 1) for _ in range(num_inputs)] for _ in range(num_samples)]
        self.targets = [[sin((k + 1) * sum(row)) for k in range(num_outputs)] for row in self.inputs]

    def __len__(self) -> int:
        return len(self.inputs)


class SampleStream:
    """Sample indices in shuffled epochs without end; the same on every rank and for every world size.

    A batch that reaches the end of an epoch goes on in the next one, so no sample is ever left out.
    """

    def __init__(self, num_samples: int, batch_size: int, seed: int = 0) -> None:
        """Batches of `batch_size` indices below `num_samples`, shuffled from `seed`."""
        if num_samples < 1 or batch_size < 1:
            raise ValueError(f"need at least one sample and one per batch, not {num_samples} and {batch_size}")
        self.num_samples = num_samples
        self.batch_size = batch_size
        self.epoch = -1
        self.position = num_samples
        self._order: list[int] = []
        self._rng = random.Random(f"samples-{seed}")

    def next_batch(self) -> list[int]:
        """The indices of the next global batch."""
        batch: list[int] = []
        while len(batch) < self.batch_size:
            if self.position == self.num_samples:
                self._order = list(range(self.num_samples))
                self._rng.shuffle(self._order)
                self.epoch += 1
                self.position = 0
            taken = self._order[self.position:self.position + self.batch_size - len(batch)]
            self.position += len(taken)
            batch.extend(taken)
        return batch
