"""Data-parallel training with an optimizer whose state is sharded over the ranks."""

from .data import Regression, SampleStream
from .layout import FlatLayout
from .model import MLP
from .optim import SGD, Adam, ShardedOptimizer
from .trainer import Trainer

__all__ = ["MLP", "SGD", "Adam", "FlatLayout", "Regression", "SampleStream", "ShardedOptimizer", "Trainer"]
