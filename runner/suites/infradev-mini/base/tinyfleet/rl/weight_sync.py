"""Moves the weights from the trainer ranks' shards into the rollout ranks' shards."""

from __future__ import annotations

from collections.abc import Sequence

from ..comm import Group
from ..tensor import Tensor
from .layout import ParamSpec, ShardLayout
from .weights import ShardStore

ROOT = 0


class WeightSync:
    """Copies every parameter from `trainer_layout` to `rollout_layout`.

    A rank of `group` may be a trainer, a rollout rank, both or neither.  The trainers hold one replica of the
    weights; the rollout ranks as many as their layout says.
    """

    def __init__(
        self, group: Group, specs: Sequence[ParamSpec], trainer_layout: ShardLayout, rollout_layout: ShardLayout
    ) -> None:
        if trainer_layout.shards != len(trainer_layout.ranks):
            raise ValueError(
                f"WeightSync: the trainer layout has {len(trainer_layout.ranks)} ranks for {trainer_layout.shards} "
                "shards; it must hold one replica, use ShardLayout.sharded"
            )
        for role, layout in (("trainer", trainer_layout), ("rollout", rollout_layout)):
            outside = [rank for rank in layout.ranks if not 0 <= rank < group.world_size]
            if outside:
                raise ValueError(f"WeightSync: {role} ranks {outside} are not in a group of {group.world_size}")
        self.group = group
        self.specs = list(specs)
        self.trainer_layout = trainer_layout
        self.rollout_layout = rollout_layout

    def push(self, source: ShardStore | None, target: ShardStore | None) -> None:
        """Copy the trainers' weights into the rollout ranks' stores; every rank of the group calls this together.

        `source` is this rank's trainer store, `target` its rollout store; None where the rank has no such role.
        """
        for spec in self.specs:
            whole = self._gather_on_root(spec, source)
            whole = self.group.broadcast(whole, src=ROOT)
            if target is not None:
                start, stop = target.interval(spec.name)
                target.shard(spec.name).copy_(whole[start:stop])

    def _gather_on_root(self, spec: ParamSpec, source: ShardStore | None) -> Tensor | None:
        """The whole flat parameter on rank 0, None elsewhere."""
        rank = self.group.rank
        if rank != ROOT:
            if source is not None:
                self.group.send(source.shard(spec.name), dst=ROOT)
            return None
        whole = Tensor.zeros(spec.numel, spec.master_dtype)
        for owner in self.trainer_layout.ranks:
            start, stop = self.trainer_layout.interval(spec.numel, owner)
            part = source.shard(spec.name) if owner == rank else self.group.recv(src=owner)
            whole[start:stop] = part
        return whole
