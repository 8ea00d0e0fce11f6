"""Reinforcement learning: rollout, trajectories, weight sync from trainer ranks to rollout ranks, and the loop."""

from .buffer import Trajectory, TrajectoryBuffer
from .layout import ParamSpec, ShardLayout
from .loop import IterationReport, LoopConfig, RLLoop
from .policy import TinyPolicy
from .rollout import RolloutConfig, RolloutWorker
from .weight_sync import WeightSync
from .weights import ShardStore

__all__ = [
    "IterationReport",
    "LoopConfig",
    "ParamSpec",
    "RLLoop",
    "RolloutConfig",
    "RolloutWorker",
    "ShardLayout",
    "ShardStore",
    "TinyPolicy",
    "Trajectory",
    "TrajectoryBuffer",
    "WeightSync",
]
