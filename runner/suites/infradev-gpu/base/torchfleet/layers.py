"""Linear layers whose weights are split over the ranks of a group, as in Megatron-LM (arXiv 1909.08053).

A column-parallel layer holds some of the output features and a row-parallel layer some of the input features, so that
the second after the first needs one sum over the ranks forwards and one backwards.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torchfleet.dist import Group


class _CopyToRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, activation: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return activation.view_as(activation)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return ctx.group.all_reduce(gradient), None


class _SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, activation: Tensor, group: Group) -> Tensor:
        return group.all_reduce(activation)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return gradient, None


def copy_to_ranks(activation: Tensor, group: Group) -> Tensor:
    """The same activation, whose gradients the ranks sum."""
    return _CopyToRanks.apply(activation, group)


def sum_over_ranks(activation: Tensor, group: Group) -> Tensor:
    """The sum of the ranks' activations, whose gradient each rank takes as it is."""
    return _SumOverRanks.apply(activation, group)


def _split(features: int, group: Group) -> int:
    if features % group.world_size:
        raise ValueError(f"{features} features do not divide by {group.world_size} ranks")
    return features // group.world_size


class ColumnParallelLinear(nn.Module):
    """``y = x W^T + b`` with W and b split by output features: ``[..., in] -> [..., out / n]``.

    ``weight`` is the full ``[out, in]``, ``bias`` the full ``[out]``; the module keeps this rank's part. Raises
    ``ValueError`` where the output features do not divide by the number of ranks.
    """

    def __init__(self, weight: Tensor, bias: Tensor, group: Group) -> None:
        super().__init__()
        self.group = group
        count = _split(weight.shape[0], group)
        own = slice(group.rank * count, (group.rank + 1) * count)
        self.weight = nn.Parameter(weight[own].clone().to(group.device))
        self.bias = nn.Parameter(bias[own].clone().to(group.device))

    def forward(self, activation: Tensor) -> Tensor:
        return nn.functional.linear(copy_to_ranks(activation, self.group), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """``y = x W^T + b`` with W split by input features: ``[..., in / n] -> [..., out]``, the same on every rank.

    ``weight`` is the full ``[out, in]``, of which the module keeps this rank's part; ``bias`` ``[out]`` is kept whole,
    and added once. Raises ``ValueError`` where the input features do not divide by the number of ranks.
    """

    def __init__(self, weight: Tensor, bias: Tensor, group: Group) -> None:
        super().__init__()
        self.group = group
        count = _split(weight.shape[1], group)
        own = slice(group.rank * count, (group.rank + 1) * count)
        self.weight = nn.Parameter(weight[:, own].clone().to(group.device))
        self.bias = nn.Parameter(bias.clone().to(group.device))

    def forward(self, activation: Tensor) -> Tensor:
        return sum_over_ranks(nn.functional.linear(activation, self.weight), self.group) + self.bias
