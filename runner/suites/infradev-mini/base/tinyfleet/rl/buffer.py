"""Trajectories and the bounded buffer between rollout and training."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Trajectory:
    """One finished completion.

    `tokens` and `logprobs` have one entry for each generated token (the end token included), `policy_version` is the
    version of the weights under which its first token was sampled, `advantage` is the reward normalised over all
    trajectories that finished in the same collection on all rollout ranks.
    """

    prompt_index: int
    sample: int
    rank: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    reward: float
    advantage: float
    policy_version: int


class TrajectoryBuffer:
    """First-in first-out store of at most `capacity` trajectories, the oldest dropped first."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"TrajectoryBuffer: capacity {capacity} must be at least 1")
        self.capacity = capacity
        self._items: deque[Trajectory] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, trajectories: Iterable[Trajectory]) -> None:
        self._items.extend(trajectories)

    def take(self, count: int) -> list[Trajectory]:
        """Remove and return up to `count` trajectories, the oldest first."""
        return [self._items.popleft() for _ in range(min(count, len(self._items)))]

    def drop_stale(self, oldest_version: int) -> int:
        """Drop trajectories that began under weights older than `oldest_version`; returns how many."""
        kept = [t for t in self._items if t.policy_version >= oldest_version]
        dropped = len(self._items) - len(kept)
        self._items = deque(kept, maxlen=self.capacity)
        return dropped
