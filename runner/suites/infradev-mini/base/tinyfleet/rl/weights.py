"""The part of the weights that one rank holds."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensor import Tensor
from .layout import ParamSpec, ShardLayout


class ShardStore:
    """This rank's interval of every parameter, as flat tensors.

    A trainer's store (`master=True`) keeps floating-point parameters in f8, a rollout rank's in the serving dtype.
    """

    def __init__(self, specs: Sequence[ParamSpec], layout: ShardLayout, rank: int, master: bool = False) -> None:
        """All zeros.  ValueError for a rank outside `layout` or two parameters of one name."""
        self.specs = {spec.name: spec for spec in specs}
        if len(self.specs) != len(specs):
            raise ValueError("ShardStore: two parameters have the same name; names must be unique")
        self.layout = layout
        self.rank = rank
        self.master = master
        self._shards = {}
        for spec in specs:
            start, stop = layout.interval(spec.numel, rank)
            self._shards[spec.name] = Tensor.zeros(stop - start, spec.master_dtype if master else spec.dtype)

    @property
    def names(self) -> list[str]:
        return list(self.specs)

    def interval(self, name: str) -> tuple[int, int]:
        """The half-open interval of the flat parameter `name` that this store holds."""
        return self.layout.interval(self.specs[name].numel, self.rank)

    def shard(self, name: str) -> Tensor:
        """The flat shard of `name`; not a copy."""
        return self._shards[name]

    def load_full(self, values: dict[str, Tensor]) -> None:
        """Take this store's intervals out of whole flat parameters."""
        for name in self.specs:
            start, stop = self.interval(name)
            self._shards[name].copy_(values[name][start:stop])
