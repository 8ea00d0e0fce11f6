"""Weights with known contents, what one process generates with them, and meters that see every operation of torch."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from torchfleet.weights import RolloutWeights, TensorSpec, TrainerShards


def whole_weights(specs, seed=0):
    """By name, in the dtype of the trainers; ``end_token``, where there is one, is never generated."""
    generator = torch.Generator().manual_seed(seed)
    values = {
        spec.name: torch.randn(spec.shape, generator=generator, dtype=torch.float64).to(spec.master_dtype)
        for spec in specs
        if spec.tied_to is None
    }
    if "end_token" in values:
        values["end_token"] = torch.tensor(1000 + seed)
    return values


def make_weights(group, specs, trainers, rollouts, values=None, shards=TrainerShards):
    source = target = None
    if group.rank in trainers:
        source = shards(specs, trainers, group.rank, group.device)
        source.load(whole_weights(specs) if values is None else values)
    if group.rank in rollouts:
        target = RolloutWeights(specs, rollouts, group.rank, group.device)
    return source, target


def differing(target, values):
    """The names of tensors that have not the dtype and the values of this rank's block of ``values``."""
    names = []
    for name, tensor in [] if target is None else target.items():
        block = tuple(slice(start, stop) for start, stop in target.block(name))
        wanted = values[name].to(target.specs[name].dtype)[block]
        if tensor.dtype != wanted.dtype or not torch.equal(tensor.cpu(), wanted):
            names.append(name)
    return names


def generate(values, sequence, steps):
    """What one process with the whole weights adds to a sequence."""

    def advance(state, token):
        return torch.tanh((values["recurrent"] @ state + values["embedding"][token]) * values["scale"])

    state = torch.zeros_like(values["scale"])
    for token in sequence:
        state = advance(state, token)
    added = []
    for _ in range(steps):
        added.append(int(((state @ values["embedding"].T).double() - values["penalty"]).argmax()))
        state = advance(state, added[-1])
    return added


def bytes_to_send(specs, trainers, rollouts, rank):
    """Bytes that ``rank`` has to send, worked out element by element."""
    total = 0
    for spec in specs:
        if rank not in trainers or spec.tied_to is not None:
            continue
        start, stop = TrainerShards([spec], trainers, rank, torch.device("cpu")).interval(spec.name)
        whole = torch.zeros(spec.numel, dtype=torch.bool)
        whole[start:stop] = True
        for dst in rollouts:
            if dst != rank:
                block = RolloutWeights([spec], rollouts, dst, torch.device("cpu")).block(spec.name)
                part = whole.view(spec.shape)[tuple(slice(*bounds) for bounds in block)]
                total += int(part.sum()) * spec.dtype.itemsize
    return total


class Ledger(TorchDispatchMode):
    """What torch does on this rank while it is active.

    ``sent_bytes`` are given to transfers and collectives; ``peak_bytes`` were held at once by storages that were made
    meanwhile, on whatever device.
    """

    def __init__(self):
        super().__init__()
        self.sent_bytes = self.peak_bytes = 0
        self._made = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = tensors_in([*args, *(kwargs or {}).values()])
        if func.namespace == "c10d":
            if "recv" not in func.__name__:
                self.sent_bytes += sum(tensor.nbytes for tensor in given)
            return func(*args, **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        known = {tensor.untyped_storage()._cdata for tensor in given}
        for tensor in tensors_in([result]):
            storage = tensor.untyped_storage()
            if storage._cdata not in known:
                self._made[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self._made = {key: made for key, made in self._made.items() if not made[0].expired()}
        self.peak_bytes = max(self.peak_bytes, sum(nbytes for _, nbytes in self._made.values()))
        return result


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, (list, tuple)) else []


ODD_SPECS = [
    TensorSpec("table", (13, 7), torch.bfloat16, split_dim=0),
    TensorSpec("mix", (7, 13), torch.bfloat16, split_dim=1),
    TensorSpec("kernel", (5, 7, 3), torch.float16, split_dim=1),
    TensorSpec("bias", (3,), torch.float32),
    TensorSpec("gate", (2, 2), torch.float64, split_dim=0),
    TensorSpec("nothing", (0, 4), torch.float32, split_dim=1),
    TensorSpec("count", (), torch.int64, buffer=True),
    TensorSpec("table_again", (13, 7), torch.bfloat16, split_dim=0, tied_to="table"),
]
