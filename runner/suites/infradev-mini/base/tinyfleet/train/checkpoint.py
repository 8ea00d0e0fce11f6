"""Checkpoints of training: the parameters and the optimizer's state."""

from __future__ import annotations

from pathlib import Path

from ..tensor import Tensor, concat
from .tensorfile import CheckpointError, read, write
from .trainer import Trainer

__all__ = ["CheckpointError", "load_full", "save_full"]


def save_full(path: Path, trainer: Trainer) -> None:
    """Write the whole optimizer state into one file; rank 0 collects it. Every rank calls this.

    The position in the data is not saved.
    """
    optimizer, group = trainer.optimizer, trainer.group
    tensors: dict[str, Tensor] = {}
    for name, shard in {"master": optimizer.master, **optimizer.slots}.items():
        shards = group.all_gather(shard)
        if group.rank == 0:
            tensors[name] = concat(shards)
    if group.rank == 0:
        meta = {"rule": optimizer.rule.name, "shapes": trainer.layout.shapes, "steps": optimizer.steps}
        write(path, meta, tensors)
    group.barrier()


def load_full(path: Path, trainer: Trainer) -> None:
    """Continue from a file that `save_full` wrote, on any number of ranks. Every rank calls this and reads all of it.

    Raises CheckpointError, with `trainer` left as it was, if the file is missing or damaged or was written for other
    shapes or another optimizer.
    """
    meta, tensors = read(path)
    optimizer = trainer.optimizer
    shapes = {name: list(shape) for name, shape in trainer.layout.shapes.items()}
    if meta["shapes"] != shapes:
        raise CheckpointError(f"{path} holds parameters of other shapes than the model's")
    if meta["rule"] != optimizer.rule.name:
        raise CheckpointError(f"{path} holds the state of {meta['rule']}, training uses {optimizer.rule.name}")
    for name, shard in {"master": optimizer.master, **optimizer.slots}.items():
        shard.copy_(tensors[name][optimizer.start:optimizer.stop])
    optimizer.steps = meta["steps"]
    optimizer.publish(trainer.model.parameters)
