"""Stages that keep a record of what happens to their microbatches, and the whole model to compare with."""

import time

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode


class Record:
    """What one stage's module saw; the tensors themselves are not kept alive."""

    def __init__(self):
        self.sizes = []
        self.dtypes = []
        self.in_flight = self.peak_in_flight = 0
        self.peak_alive = {"inputs": 0, "outputs": 0}
        self._storages = {"inputs": [], "outputs": []}

    def alive(self, kind):
        return sum(not storage.expired() for storage in self._storages[kind])

    def note(self, kind, tensor):
        self._storages[kind].append(StorageWeakRef(tensor.untyped_storage()))
        self.peak_alive[kind] = max(self.peak_alive[kind], self.alive(kind))


class Passage(torch.autograd.Function):
    """Passes a tensor on; its backward pass ends the flight of the microbatch. Both take ``seconds``."""

    @staticmethod
    def forward(ctx, tensor, record, seconds):
        ctx.record, ctx.seconds = record, seconds
        record.in_flight += 1
        record.peak_in_flight = max(record.peak_in_flight, record.in_flight)
        time.sleep(seconds)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        ctx.record.in_flight -= 1
        time.sleep(ctx.seconds)
        return gradient, None, None


class RecordedStage(nn.Module):
    """One linear layer, or ``layer``, in front of it the record of what comes in and behind it of what goes out."""

    def __init__(self, width=6, layer=None, seconds=0.0):
        super().__init__()
        self.layer = nn.Linear(width, width) if layer is None else layer
        self.seconds = seconds
        self.record = Record()

    def forward(self, inputs):
        self.record.sizes.append(len(inputs))
        self.record.dtypes.append(inputs.dtype)
        self.record.note("inputs", inputs)
        outputs = self.layer(inputs)
        if torch.is_grad_enabled():
            outputs = Passage.apply(outputs, self.record, self.seconds)
        self.record.note("outputs", outputs)
        return outputs


def make_stages(group, width=6, seconds=0.0):
    """Every stage of one model, the same on each rank; those of other ranks serve the comparison."""
    torch.manual_seed(5)
    return [RecordedStage(width, seconds=seconds).to(group.device) for _ in range(group.world_size)]


def make_batch(group, *shape, seed=6):
    inputs, targets = torch.randn(2, *shape, generator=torch.Generator().manual_seed(seed))
    return inputs.to(group.device), targets.to(group.device)


def whole_model(stages, inputs, targets, rank):
    """Loss and gradients of stage ``rank`` for the whole batch at once, without a pipeline."""
    outputs = inputs
    for stage in stages:
        outputs = stage.layer(outputs)
    loss = nn.functional.mse_loss(outputs, targets)
    return loss.detach(), torch.autograd.grad(loss, list(stages[rank].parameters()))


def gradients(stage):
    return [parameter.grad for parameter in stage.parameters()]


class Transfers(TorchDispatchMode):
    """Bytes that this rank gives to collectives and transfers of torch while it is active."""

    def __init__(self):
        super().__init__()
        self.nbytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.__name__.partition(".")[0] if hasattr(func, "__name__") else str(func)
        if getattr(func, "namespace", "") == "c10d" and "recv" not in name and "barrier" not in name:
            self.nbytes += sum(tensor.nbytes for tensor in tensors_in(args))
        return func(*args, **(kwargs or {}))


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, (list, tuple)) else []
