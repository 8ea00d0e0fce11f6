"""The weights of a policy as they lie on the ranks that train it and on those that generate with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

UNSET_VERSION = -1


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of the policy.

    Rollout ranks hold it in ``dtype``, split along ``split_dim``, or whole where that is None. Trainers hold a
    parameter in float32 (float64 where ``dtype`` is that), a ``buffer`` in ``dtype``. ``tied_to`` names the tensor that
    this one is another name for.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    split_dim: int | None = None
    buffer: bool = False
    tied_to: str | None = None

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def master_dtype(self) -> torch.dtype:
        return self.dtype if self.buffer or self.dtype == torch.float64 else torch.float32


def interval(size: int, parts: int, part: int) -> tuple[int, int]:
    """Where part ``part`` of ``size`` things starts and stops; sizes differ by one at most, the larger come first."""
    smaller, larger = divmod(size, parts)
    start = part * smaller + min(part, larger)
    return start, start + smaller + (part < larger)


def _check(specs: Sequence[TensorSpec], ranks: Sequence[int], rank: int) -> None:
    own = {spec.name for spec in specs if spec.tied_to is None}
    for spec in specs:
        if spec.tied_to is not None and spec.tied_to not in own:
            raise ValueError(f"{spec.name!r} is tied to {spec.tied_to!r}, which is no tensor of its own")
    if rank not in ranks:
        raise ValueError(f"rank {rank} is none of the ranks {list(ranks)} that hold these weights")


class TrainerShards:
    """This trainer's part of the policy: of each flattened tensor, the interval of its place in ``ranks``.

    ``version`` says how often the policy was trained, or to which checkpoint it went back; the trainer sets it.
    """

    def __init__(self, specs: Sequence[TensorSpec], ranks: Sequence[int], rank: int, device: torch.device) -> None:
        _check(specs, ranks, rank)
        self.specs = {spec.name: spec for spec in specs}
        self.ranks = list(ranks)
        self.version = 0
        self._place = self.ranks.index(rank)
        self._shards: dict[str, Tensor] = {}
        for spec in specs:
            if spec.tied_to is None:
                start, stop = self.interval(spec.name)
                self._shards[spec.name] = torch.zeros(stop - start, dtype=spec.master_dtype, device=device)

    def interval(self, name: str) -> tuple[int, int]:
        """Which elements of the flat tensor this trainer holds."""
        return interval(self.specs[name].numel, len(self.ranks), self._place)

    def shard(self, name: str) -> Tensor:
        """The elements themselves, one-dimensional; no copy."""
        return self._shards[self.specs[name].tied_to or name]

    def load(self, values: Mapping[str, Tensor]) -> None:
        """Takes this trainer's intervals out of whole tensors."""
        for name, shard in self._shards.items():
            shard.copy_(values[name].reshape(-1)[slice(*self.interval(name))])


class RolloutWeights:
    """This rollout rank's part of the policy: of each tensor, the block that belongs to its place in ``ranks``.

    ``version`` is the version of the trainers' values in all of its tensors.
    """

    def __init__(self, specs: Sequence[TensorSpec], ranks: Sequence[int], rank: int, device: torch.device) -> None:
        _check(specs, ranks, rank)
        self.specs = {spec.name: spec for spec in specs}
        self.ranks = list(ranks)
        self.version = UNSET_VERSION
        self._place = self.ranks.index(rank)
        self._tensors: dict[str, Tensor] = {}
        for spec in specs:
            if spec.tied_to is None:
                shape = [stop - start for start, stop in self.block(spec.name)]
                self._tensors[spec.name] = torch.zeros(shape, dtype=spec.dtype, device=device)

    def block(self, name: str) -> list[tuple[int, int]]:
        """Start and stop of this rank's block, along each dimension of the whole tensor."""
        spec = self.specs[name]
        return [
            interval(size, len(self.ranks), self._place) if dim == spec.split_dim else (0, size)
            for dim, size in enumerate(spec.shape)
        ]

    def tensor(self, name: str) -> Tensor:
        """The block itself; no copy. Tied names give the same tensor."""
        return self._tensors[self.specs[name].tied_to or name]

    def items(self) -> Iterator[tuple[str, Tensor]]:
        """Name and block of each tensor that is not tied to another."""
        return iter(self._tensors.items())
