"""The flat space of a model's parameters: one after another, cut into one contiguous shard per rank."""

from __future__ import annotations

from math import prod
from typing import Iterator, Mapping

from ..tensor import Tensor


class FlatLayout:
    """Where each named tensor lies in the flat space, and which range of it a rank owns."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Lay out tensors of `shapes` in the mapping's order."""
        self.shapes = {name: tuple(shape) for name, shape in shapes.items()}
        self.offsets: dict[str, int] = {}
        self.numel = 0
        for name, shape in self.shapes.items():
            self.offsets[name] = self.numel
            self.numel += prod(shape)

    def shard_size(self, world_size: int) -> int:
        """Elements of a full shard: the flat size over the ranks, rounded up."""
        return -(-self.numel // world_size)

    def shard_bounds(self, rank: int, world_size: int) -> tuple[int, int]:
        """The range (start, stop) that `rank` owns; the last ranks' ranges may be shorter, or empty."""
        size = self.shard_size(world_size)
        start = min(rank * size, self.numel)
        return start, min(start + size, self.numel)

    def _pieces(self, tensors: Mapping[str, Tensor], start: int, stop: int) -> Iterator[Tensor]:
        """Flat views of the named tensors that together are the range (start, stop), in order."""
        for name, offset in self.offsets.items():
            low, high = max(start, offset), min(stop, offset + prod(self.shapes[name]))
            if low < high:
                yield tensors[name].flatten()[low - offset:high - offset]

    def gather(self, tensors: Mapping[str, Tensor], start: int, stop: int, into: Tensor) -> Tensor:
        """Copy the range (start, stop) of the flat space out of named contiguous tensors into flat `into`."""
        position = 0
        for piece in self._pieces(tensors, start, stop):
            into[position:position + piece.numel].copy_(piece)
            position += piece.numel
        return into

    def scatter(self, values: Tensor, start: int, tensors: Mapping[str, Tensor]) -> None:
        """Copy flat `values` to the range that begins at `start`, into named contiguous tensors."""
        position = 0
        for piece in self._pieces(tensors, start, start + values.numel):
            piece.copy_(values[position:position + piece.numel])
            position += piece.numel
