"""Named tensors as one flat range of elements, and the shards into which ranks cut it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import NamedTuple

from torch import Tensor


class Piece(NamedTuple):
    """Elements ``start:stop`` of the flattened tensor ``name``, which stand at ``offset`` of the flat range."""

    name: str
    start: int
    stop: int
    offset: int


class FlatLayout:
    """The order of ``shapes`` is the order in the range. It depends on nothing but names and shapes."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = {name: tuple(shape) for name, shape in shapes.items()}
        self.numel = sum(map(prod, self.shapes.values()))

    def shard_size(self, ranks: int) -> int:
        """Elements of the longest shard, that is of all but the last ranks'."""
        return -(-self.numel // ranks)

    def shard_bounds(self, rank: int, ranks: int) -> tuple[int, int]:
        """Where a rank's shard starts and stops. Shards at the end may be shorter, or empty."""
        size = self.shard_size(ranks)
        return min(rank * size, self.numel), min((rank + 1) * size, self.numel)

    def pieces(self, start: int, stop: int) -> Iterator[Piece]:
        """What of which tensors lies between ``start`` and ``stop``, in order."""
        offset = 0
        for name, shape in self.shapes.items():
            numel = prod(shape)
            first, last = max(start, offset), min(stop, offset + numel)
            if first < last:
                yield Piece(name, first - offset, last - offset, first)
            offset += numel

    def gather(self, tensors: Mapping[str, Tensor], into: Tensor, start: int = 0) -> Tensor:
        """Copies the range from ``start``, as long as ``into``, from the tensors; what is beyond them is 0."""
        into.zero_()
        for piece in self.pieces(start, start + into.numel()):
            target = into[piece.offset - start : piece.offset - start + piece.stop - piece.start]
            target.copy_(tensors[piece.name].detach().flatten()[piece.start : piece.stop])
        return into

    def scatter(self, flat: Tensor, tensors: Mapping[str, Tensor], start: int = 0) -> None:
        """Copies a flat range that begins at ``start`` into the tensors, which have to be contiguous."""
        for piece in self.pieces(start, start + flat.numel()):
            source = flat[piece.offset - start : piece.offset - start + piece.stop - piece.start]
            tensors[piece.name].detach().view(-1)[piece.start : piece.stop].copy_(source)
