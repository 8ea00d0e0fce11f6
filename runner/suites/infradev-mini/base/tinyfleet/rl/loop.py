"""The reinforcement-learning loop: roll out, ship trajectories, train, sync weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..comm import Group
from ..tensor import Tensor, concat
from .buffer import Trajectory, TrajectoryBuffer
from .layout import ShardLayout
from .policy import TinyPolicy
from .rollout import RewardFn, RolloutConfig, RolloutWorker
from .weight_sync import WeightSync
from .weights import ShardStore

GRADIENT_NAMES = ("embed", "proj", "bias")


@dataclass(frozen=True)
class LoopConfig:
    """Sizes and placement of one run; a rank may train, roll out, or do both (colocated).

    `rollout_shards` is the tensor-parallel size of one inference replica; it must divide the number of rollout ranks.
    Trajectories that began more than `max_staleness` versions ago are dropped.
    """

    vocab: int
    hidden: int
    trainer_ranks: tuple[int, ...]
    rollout_ranks: tuple[int, ...]
    rollout: RolloutConfig
    rollout_shards: int = 1
    learning_rate: float = 0.1
    buffer_capacity: int = 1024
    max_staleness: int = 1
    seed: int = 0


@dataclass(frozen=True)
class IterationReport:
    """What one iteration did, the same on every rank: the new version, trajectories trained on, their mean reward."""

    version: int
    trajectories: int
    mean_reward: float


class RLLoop:
    """Policy-gradient training of a TinyPolicy, trainers and rollout ranks in one group."""

    def __init__(
        self, group: Group, prompts: Sequence[Sequence[int]], reward_fn: RewardFn, config: LoopConfig
    ) -> None:
        """Every rank of `group` constructs the loop together; the initial weights are synced as version 0."""
        self.group = group
        self.config = config
        specs = TinyPolicy.specs(config.vocab, config.hidden)
        trainer_layout = ShardLayout.sharded(config.trainer_ranks)
        rollout_layout = ShardLayout(tuple(config.rollout_ranks), config.rollout_shards)
        self.version = 0
        self.sync = WeightSync(group, specs, trainer_layout, rollout_layout)
        self._trainers = group.subgroup(config.trainer_ranks)
        rollout_group = group.subgroup(config.rollout_ranks)
        self._replica = None
        for first in range(0, len(config.rollout_ranks), config.rollout_shards):
            replica = group.subgroup(config.rollout_ranks[first : first + config.rollout_shards])
            self._replica = replica or self._replica

        self.source = self.target = self.worker = None
        if self._trainers is not None:
            self.source = ShardStore(specs, trainer_layout, group.rank, master=True)
            self.source.load_full(TinyPolicy.initial_values(config.vocab, config.hidden, config.seed))
            self._learner = TinyPolicy(config.vocab, config.hidden)
            self._buffer = TrajectoryBuffer(config.buffer_capacity)
        if rollout_group is not None:
            self.target = ShardStore(specs, rollout_layout, group.rank)
            policy = TinyPolicy(config.vocab, config.hidden)
            self.worker = RolloutWorker(rollout_group, policy, prompts, reward_fn, config.rollout)
        self._sync_weights()

    def iterate(self) -> IterationReport:
        """One round of rolling out, training and syncing; every rank calls this together."""
        collected = self.worker.collect() if self.worker is not None else []
        self._ship(collected)
        count, reward_sum = 0, 0.0
        if self.source is not None:
            count, reward_sum = self._train()
        self.version += 1
        self._sync_weights()
        report = IterationReport(self.version, count, reward_sum / count if count else 0.0)
        return self.group.broadcast(report, src=self.config.trainer_ranks[0])

    def _ship(self, collected: list[Trajectory]) -> None:
        """Deal this rank's trajectories out to the trainers' buffers."""
        trainers = self.config.trainer_ranks
        for src in self.config.rollout_ranks:
            for index, dst in enumerate(trainers):
                if src == dst == self.group.rank:
                    self._buffer.add(collected[index :: len(trainers)])
                elif src == self.group.rank:
                    self.group.send(collected[index :: len(trainers)], dst)
                elif dst == self.group.rank:
                    self._buffer.add(self.group.recv(src))

    def _train(self) -> tuple[int, float]:
        """One optimizer step on everything buffered; returns how many trajectories it used and their summed reward."""
        self._buffer.drop_stale(self.version - self.config.max_staleness)
        trajectories = self._buffer.take(len(self._buffer))
        self._learner.load(gather_shards(self._trainers, self.source), self.version)
        gradient = {name: Tensor.zeros(self.source.specs[name].numel) for name in GRADIENT_NAMES}
        for trajectory in trajectories:
            self._learner.accumulate_gradient(
                trajectory.prompt, trajectory.tokens, trajectory.advantage, gradient
            )
        totals = Tensor.of([len(trajectories), sum(t.reward for t in trajectories)])
        count, reward_sum = self._trainers.all_reduce(totals).tolist()
        for name, flat in gradient.items():
            self._trainers.all_reduce(flat)
            start, stop = self.source.interval(name)
            if count:
                self.source.shard(name).add_(flat[start:stop], alpha=-self.config.learning_rate / count)
        self.source.shard("updates").map_(lambda updates: updates + 1)
        return int(count), reward_sum

    def _sync_weights(self) -> None:
        self.sync.push(self.source, self.target)
        if self.worker is not None:
            self.worker.policy.load(gather_shards(self._replica, self.target), self.version)


def gather_shards(group: Group, store: ShardStore) -> dict[str, Tensor]:
    """Whole flat parameters from the shards of the ranks of `group`, which hold them in rank order."""
    if group.world_size == 1:
        return {name: store.shard(name) for name in store.names}
    return {name: concat(group.all_gather(store.shard(name))) for name in store.names}
