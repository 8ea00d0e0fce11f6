"""A reproducible stream of token sequences, which the ranks of a group share out."""

from __future__ import annotations

import torch
from torch import Tensor


class TokenStream:
    """Sample ``k`` of the stream is the same for every number of ranks; rank ``r`` of ``n`` draws r, r + n, r + 2n, ...

    ``drawn`` counts what this rank has drawn. Samples are arithmetic progressions modulo ``vocabulary``.
    """

    def __init__(self, vocabulary: int, length: int, rank: int = 0, ranks: int = 1, seed: int = 0) -> None:
        self.vocabulary = vocabulary
        self.length = length
        self.rank = rank
        self.ranks = ranks
        self.seed = seed
        self.drawn = 0

    def draw(self, count: int) -> Tensor:
        """The next ``count`` samples of this rank: ``[count, length]`` tokens on the CPU."""
        numbers = self.rank + self.ranks * torch.arange(self.drawn, self.drawn + count)
        self.drawn += count
        first = (numbers * 7919 + self.seed * 104_729) % self.vocabulary
        stride = 1 + (numbers * 31 + self.seed) % 5
        return (first[:, None] + stride[:, None] * torch.arange(self.length)) % self.vocabulary
