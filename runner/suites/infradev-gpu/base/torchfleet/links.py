"""What travels between neighbouring stages of a pipeline."""

from __future__ import annotations

import torch
from torch import Tensor

from .dist import Group

_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32)
_HEADER_LENGTH = 10


class Links:
    """Sends to and receives from the stages before and after this one.

    An activation is announced by a header with its shape and dtype; a gradient has those of its activation.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.is_first = group.rank == 0
        self.is_last = group.rank == group.world_size - 1

    def send_forward(self, output: Tensor) -> None:
        """Sends an activation to the next stage. ``ValueError`` for a dtype or a shape that no header can say."""
        self.group.send(_header_of(output), self.group.rank + 1)
        self.group.send(output, self.group.rank + 1)

    def receive_forward(self) -> Tensor:
        """The next activation of the stage before."""
        header = self.group.receive((_HEADER_LENGTH,), torch.int64, self.group.rank - 1)
        return self.group.receive(*_described(header), self.group.rank - 1)

    def send_backward(self, gradient: Tensor) -> None:
        """Sends the gradient of an activation back to the stage that it came from."""
        self.group.send(gradient, self.group.rank - 1)

    def receive_backward(self, output: Tensor) -> Tensor:
        """The gradient of ``output``, which this stage sent."""
        return self.group.receive(output.shape, output.dtype, self.group.rank + 1)


def _header_of(tensor: Tensor) -> Tensor:
    if tensor.dim() > _HEADER_LENGTH - 2 or tensor.dtype not in _DTYPES:
        raise ValueError(f"a stage cannot send {tensor.dim()} dimensions of {tensor.dtype}")
    numbers = [tensor.dim(), _DTYPES.index(tensor.dtype), *tensor.shape]
    return torch.tensor(numbers + [0] * (_HEADER_LENGTH - len(numbers)))


def _described(header: Tensor) -> tuple[list[int], torch.dtype]:
    count, dtype, *sizes = header.tolist()
    return sizes[:count], _DTYPES[dtype]
