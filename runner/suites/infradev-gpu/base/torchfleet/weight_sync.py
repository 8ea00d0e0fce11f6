"""Weights from the ranks that train to the ranks that generate."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .dist import Group
from .weights import RolloutWeights, TensorSpec, TrainerShards, interval

ROOT = 0


class WeightSync:
    """Moves the policy from ``trainer_ranks`` to ``rollout_ranks`` of ``group``; a rank may be both, or neither.

    Every rank of the group makes it with the same arguments and calls ``push`` together.
    """

    def __init__(
        self,
        group: Group,
        specs: Sequence[TensorSpec],
        trainer_ranks: Sequence[int],
        rollout_ranks: Sequence[int],
    ) -> None:
        self.group = group
        self.specs = [spec for spec in specs if spec.tied_to is None]
        self.trainer_ranks = list(trainer_ranks)
        self.rollout_ranks = list(rollout_ranks)

    def push(self, source: TrainerShards | None, target: RolloutWeights | None) -> None:
        """Gives every rollout rank the trainers' values and version.

        ``source`` is this rank's part of the trainers' weights and ``target`` what it generates with, None where it is
        no trainer or no rollout rank. Each tensor is put together on rank 0, which gives it to all ranks.
        """
        versions = self.group.gather_objects(None if source is None else source.version)
        for spec in self.specs:
            whole = self._gather_on_root(spec, source)
            whole = self.group.broadcast(whole, ROOT)
            if target is not None:
                block = [slice(start, stop) for start, stop in target.block(spec.name)]
                target.tensor(spec.name).copy_(whole.view(spec.shape)[tuple(block)])
        if target is not None:
            target.version = versions[self.trainer_ranks[0]]

    def _gather_on_root(self, spec: TensorSpec, source: TrainerShards | None) -> Tensor:
        """The whole flat tensor on rank 0; room for it elsewhere."""
        whole = torch.empty(spec.numel, dtype=spec.master_dtype, device=self.group.device)
        for place, trainer in enumerate(self.trainer_ranks):
            start, stop = interval(spec.numel, len(self.trainer_ranks), place)
            if self.group.rank == trainer == ROOT:
                whole[start:stop] = source.shard(spec.name)
            elif self.group.rank == trainer:
                self.group.send(source.shard(spec.name), ROOT)
            elif self.group.rank == ROOT:
                whole[start:stop] = self.group.receive((stop - start,), spec.master_dtype, trainer)
        return whole
