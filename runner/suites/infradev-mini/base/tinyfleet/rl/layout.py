"""Which rank holds which part of a parameter.

A parameter is flattened in row-major order and cut into contiguous intervals, one for each shard.  Trainer ranks and
rollout ranks cut the same parameters differently: trainers as finely as there are trainer ranks, rollout ranks by the
tensor-parallel size of one inference replica.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

FLOAT_DTYPES = ("f4", "f8")


@dataclass(frozen=True)
class ParamSpec:
    """Name, shape and serving dtype of one parameter.

    Trainers keep floating-point parameters in `master_dtype` (f8); rollout ranks serve them in `dtype`.  Integer
    parameters (counters, index tables) have one dtype everywhere.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "f4"

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def master_dtype(self) -> str:
        return "f8" if self.dtype in FLOAT_DTYPES else self.dtype


@dataclass(frozen=True)
class ShardLayout:
    """`ranks[i]` holds shard `i % shards`, so `len(ranks) // shards` replicas of every shard exist.

    A parameter of n elements is cut into intervals of n // shards elements, the first n % shards of which hold one
    more.  With more shards than elements the last shards are empty.
    """

    ranks: tuple[int, ...]
    shards: int

    def __post_init__(self) -> None:
        if not self.ranks:
            raise ValueError("ShardLayout: ranks is empty; name at least one rank")
        if len(set(self.ranks)) != len(self.ranks):
            raise ValueError(f"ShardLayout: ranks {self.ranks} names a rank twice; list each rank once")
        if self.shards < 1 or len(self.ranks) % self.shards:
            raise ValueError(
                f"ShardLayout: {len(self.ranks)} ranks cannot hold {self.shards} shards in whole replicas; "
                "choose a number of shards that divides the number of ranks"
            )

    @classmethod
    def sharded(cls, ranks: tuple[int, ...]) -> ShardLayout:
        """One shard for each rank."""
        return cls(tuple(ranks), len(ranks))

    @classmethod
    def replicated(cls, ranks: tuple[int, ...]) -> ShardLayout:
        """The whole parameter on each rank."""
        return cls(tuple(ranks), 1)

    def holds(self, rank: int) -> bool:
        return rank in self.ranks

    def shard_index(self, rank: int) -> int:
        """The shard that `rank` holds; ValueError for a rank outside the layout."""
        if rank not in self.ranks:
            raise ValueError(f"ShardLayout: rank {rank} is not in this layout (ranks {self.ranks})")
        return self.ranks.index(rank) % self.shards

    def interval(self, numel: int, rank: int) -> tuple[int, int]:
        """The half-open interval [start, stop) of a flat parameter of `numel` elements that `rank` holds."""
        index = self.shard_index(rank)
        size, extra = divmod(numel, self.shards)
        start = index * size + min(index, extra)
        return start, start + size + (1 if index < extra else 0)
