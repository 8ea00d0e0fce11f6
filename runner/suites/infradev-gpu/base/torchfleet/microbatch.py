"""Batches cut into microbatches."""

from __future__ import annotations

from torch import Tensor


def microbatch_sizes(batch_size: int, microbatch_size: int) -> list[int]:
    """How many samples each microbatch of a batch has.

    ``ValueError`` where the batch has no sample, or does not divide into microbatches of ``microbatch_size``.
    """
    if batch_size < 1 or batch_size % microbatch_size:
        raise ValueError(f"a batch of {batch_size} samples does not divide into microbatches of {microbatch_size}")
    return [microbatch_size] * (batch_size // microbatch_size)


def split_batch(batch: Tensor, sizes: list[int]) -> list[Tensor]:
    """The views of ``batch`` along its first dimension. ``ValueError`` where ``sizes`` do not add up to it."""
    if batch.shape[0] != sum(sizes):
        raise ValueError(f"a tensor of {batch.shape[0]} samples was given for a batch of {sum(sizes)}")
    return list(batch.split(sizes))
