"""Saving and loading a trainer."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from torchfleet.trainer import Trainer

STATE = ("master", "mean", "square")
"""The optimizer's sharded tensors."""


def save_checkpoint(path: Path, trainer: Trainer) -> None:
    """Writes the whole state into the file ``path``, from rank 0; every rank of the data group calls it.

    A model that is split over ranks is refused with ``ValueError``.
    """
    _refuse_split(trainer)
    optimizer, group = trainer.optimizer, trainer.group
    size = optimizer.layout.shard_size(group.world_size)
    state = {}
    for name in STATE:
        own = getattr(optimizer, name)
        padded = torch.nn.functional.pad(own, (0, size - own.numel()))
        state[name] = group.all_gather(padded)[: optimizer.layout.numel].cpu()
    if group.rank == 0:
        state.update(ranks=group.world_size, steps=optimizer.steps, drawn=trainer.data.drawn)
        partial = path.with_name(path.name + ".partial")
        torch.save(state, partial)
        os.replace(partial, path)
    group.barrier()


def load_checkpoint(path: Path, trainer: Trainer) -> None:
    """Continues from what ``save_checkpoint`` wrote. Raises ``ValueError`` for another number of ranks or elements."""
    _refuse_split(trainer)
    optimizer, group = trainer.optimizer, trainer.group
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["ranks"] != group.world_size:
        raise ValueError(f"{path} was written by {state['ranks']} ranks and cannot be loaded by {group.world_size}")
    if state["master"].numel() != optimizer.layout.numel:
        raise ValueError(f"{path} holds {state['master'].numel()} elements, the model has {optimizer.layout.numel}")
    for name in STATE:
        getattr(optimizer, name).copy_(state[name][optimizer.start : optimizer.stop])
    optimizer.steps = state["steps"]
    trainer.data.drawn = state["drawn"]
    optimizer.publish()


def _refuse_split(trainer: Trainer) -> None:
    if trainer.model.group.world_size > 1:
        raise ValueError("checkpoints hold models that are whole on each rank")
