"""Processes, devices and collectives.

A rank computes on GPU ``LOCAL_RANK % device_count``, or on the CPU where there is none. Where each rank of the host has
a GPU of its own, ranks talk through NCCL; where they share one or have none, through gloo, which gets copies in host
memory: it does not take CUDA tensors for every operation. Whatever waits for another rank ends within the group's
time-out, with an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as c10d
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

START_TIMEOUT_S = 60.0
"""How long a rank waits for the others to open a group: they may still be busy with the one before."""

_store: c10d.Store | None = None
_opened: dict[str, int] = {}


def local_device() -> torch.device:
    """The device that this rank computes on."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return torch.device("cuda", _variable("LOCAL_RANK", 0) % count) if count else torch.device("cpu")


def local_backend() -> str:
    """``nccl`` where every rank of this host has a GPU of its own, else ``gloo``."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    ranks = _variable("LOCAL_WORLD_SIZE", _variable("WORLD_SIZE", 1))
    return "nccl" if count >= ranks and c10d.is_nccl_available() else "gloo"


def _variable(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


class Pending:
    """A transfer under way. ``wait`` returns its result; until then nobody touches the tensors given to it."""

    def __init__(self, works: Sequence[c10d.Work], result: Callable[[], Tensor]) -> None:
        self._works = list(works)
        self._result = result
        self._value: Tensor | None = None

    def wait(self) -> Tensor:
        """The result, on the group's device. Raises ``RuntimeError`` where a rank was lost or the time is over."""
        if self._value is None:
            for work in self._works:
                work.wait()
            self._value = self._result()
            self._works.clear()
        return self._value


class Group:
    """Some ranks and their collectives, each of which every rank of the group has to call in the same order.

    ``rank`` and every source or destination count within the group. Tensors may have any dtype, stand on any device,
    and need not be contiguous; results stand on ``device``. Sums are made in the tensor's own dtype.
    """

    def __init__(self, ranks: Sequence[int], rank: int, device: torch.device, backend: str, group: Any) -> None:
        self.ranks = list(ranks)
        self.rank = rank
        self.world_size = len(self.ranks)
        self.device = device
        self.backend = backend
        self._group = group

    # Each collective has a form that only starts it.

    def start_all_gather(self, tensor: Tensor, dim: int = 0) -> Pending:
        """Starts to gather every rank's tensor, all of one shape, one after the other along ``dim``."""
        own = self._outgoing(tensor)
        parts = [torch.empty_like(own) for _ in self.ranks]
        work = c10d.all_gather([_bits(part) for part in parts], _bits(own), group=self._group, async_op=True)
        return Pending([work], lambda: self._incoming(torch.cat(parts, dim)))

    def start_reduce_scatter(self, tensor: Tensor, dim: int = 0) -> Pending:
        """Starts to sum over the ranks; this rank gets the part along ``dim`` that has its number.

        Raises ``ValueError`` where ``dim`` does not divide by the number of ranks.
        """
        if tensor.shape[dim] % self.world_size:
            raise ValueError(f"dimension {dim} of {tuple(tensor.shape)} does not divide by {self.world_size} ranks")
        parts = [self._outgoing(part) for part in tensor.chunk(self.world_size, dim)]
        if self.backend == "nccl":
            result = torch.empty_like(parts[self.rank])
            work = c10d.reduce_scatter(result, parts, group=self._group, async_op=True)
            return Pending([work], lambda: result)
        # gloo's own, where it has one, may send what an all-reduce sends
        received = [torch.empty_like(part) for part in parts]
        received[self.rank] = parts[self.rank]
        peers = [peer for peer in range(self.world_size) if peer != self.rank]
        works = [c10d.irecv(_bits(received[peer]), self.ranks[peer], group=self._group) for peer in peers]
        works += [c10d.isend(_bits(parts[peer]), self.ranks[peer], group=self._group) for peer in peers]

        def added() -> Tensor:
            total = received[0].clone()
            for part in received[1:]:
                total += part
            parts.clear()
            return self._incoming(total)

        return Pending(works, added)

    def start_send(self, tensor: Tensor, dst: int) -> Pending:
        """Starts to send to one rank, which receives what one sender sends in the order in which it was sent."""
        if self.backend == "nccl":  # a transfer on its own would use other connections than one of an exchange
            return self.start_exchange([(tensor, dst)], [])[0]
        own = self._outgoing(tensor)
        work = c10d.isend(_bits(own), self.ranks[dst], group=self._group)
        return Pending([work], lambda: own)

    def start_receive(self, shape: Sequence[int], dtype: torch.dtype, src: int) -> Pending:
        """Starts to receive a tensor of this shape and dtype from one rank."""
        if self.backend == "nccl":
            return self.start_exchange([], [(shape, dtype, src)])[0]
        wanted = torch.empty(tuple(shape), dtype=dtype, device=self._wire)
        work = c10d.irecv(_bits(wanted), self.ranks[src], group=self._group)
        return Pending([work], lambda: self._incoming(wanted))

    def start_exchange(
        self, sends: Sequence[tuple[Tensor, int]], receives: Sequence[tuple[Sequence[int], torch.dtype, int]]
    ) -> list[Pending]:
        """Starts all of several sends (tensor, dst) and receives (shape, dtype, src) at once, whatever their order.

        Two ranks that send to each other have to do it by this; the other side of each transfer may be on its own.
        Returns what is pending: receives, in their order, then sends.
        """
        if self.backend != "nccl":
            pending = [self.start_receive(*receive) for receive in receives]
            return pending + [self.start_send(*send) for send in sends]
        wanted = [torch.empty(tuple(shape), dtype=dtype, device=self._wire) for shape, dtype, _ in receives]
        owned = [self._outgoing(tensor) for tensor, _ in sends]
        operations = [
            c10d.P2POp(c10d.irecv, tensor, self.ranks[src], group=self._group)
            for tensor, (_, _, src) in zip(wanted, receives)
        ]
        operations += [
            c10d.P2POp(c10d.isend, tensor, self.ranks[dst], group=self._group) for tensor, (_, dst) in zip(owned, sends)
        ]
        works = c10d.batch_isend_irecv(operations) if operations else []
        return [Pending(works, lambda tensor=tensor: tensor) for tensor in [*wanted, *owned]]

    def all_gather(self, tensor: Tensor, dim: int = 0) -> Tensor:
        """Every rank's tensor, all of one shape, one after the other along ``dim``."""
        return self.start_all_gather(tensor, dim).wait()

    def reduce_scatter(self, tensor: Tensor, dim: int = 0) -> Tensor:
        """This rank's part along ``dim`` of the sum over the ranks; see ``start_reduce_scatter``."""
        return self.start_reduce_scatter(tensor, dim).wait()

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """The sum over the ranks, the same bits on each of them. ``tensor`` stays as it is."""
        own = self._outgoing(tensor)
        if self.backend != "nccl" and own.dtype not in (torch.float32, torch.float64, torch.int32, torch.int64):
            flat = torch.nn.functional.pad(own.flatten(), (0, -own.numel() % self.world_size))
            return self.all_gather(self.reduce_scatter(flat))[: own.numel()].view(own.shape)
        total = own.clone()
        c10d.all_reduce(total, group=self._group)
        return self._incoming(total)

    def broadcast(self, tensor: Tensor, src: int) -> Tensor:
        """Gives every rank the tensor of ``src``; the others' say shape and dtype. ``tensor`` stays as it is."""
        own = self._outgoing(tensor).clone()
        c10d.broadcast(_bits(own), self.ranks[src], group=self._group)
        return self._incoming(own)

    def send(self, tensor: Tensor, dst: int) -> None:
        """Sends to one rank; returns when the tensor may be changed."""
        self.start_send(tensor, dst).wait()

    def receive(self, shape: Sequence[int], dtype: torch.dtype, src: int) -> Tensor:
        """Receives a tensor of this shape and dtype from one rank."""
        return self.start_receive(shape, dtype, src).wait()

    def gather_objects(self, value: Any) -> list[Any]:
        """Every rank's value, by rank. Values travel pickled: for small things."""
        values: list[Any] = [None] * self.world_size
        c10d.all_gather_object(values, value, group=self._group)
        return values

    def broadcast_object(self, value: Any, src: int) -> Any:
        """The value of ``src``."""
        values = [value]
        c10d.broadcast_object_list(values, self.ranks[src], group=self._group)
        return values[0]

    def barrier(self) -> None:
        """Waits until every rank is here and what was started on its device before is done."""
        self.all_reduce(torch.zeros(1, device=self._wire))
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def subgroup(self, ranks: Sequence[int]) -> Group | None:
        """A group of some of these ranks, in ascending order; None where this is none of them. All ranks call it."""
        members = sorted(self.ranks[rank] for rank in ranks)
        group = c10d.new_group(members, backend=self.backend)
        own = self.ranks[self.rank]
        if own not in members:
            return None
        opened = Group(members, members.index(own), self.device, self.backend, group)
        opened.barrier()
        return opened

    def alone(self) -> Group:
        """The group of this rank only."""
        own = self.ranks[self.rank]
        group = c10d.new_group([own], backend=self.backend, use_local_synchronization=True)
        return Group([own], 0, self.device, self.backend, group)

    def close(self) -> None:
        """Ends this group's and its subgroups' connections."""
        if c10d.is_initialized():
            c10d.destroy_process_group()

    @property
    def _wire(self) -> torch.device:
        return self.device if self.backend == "nccl" else torch.device("cpu")

    def _outgoing(self, tensor: Tensor) -> Tensor:
        return tensor.detach().to(self._wire).contiguous()

    def _incoming(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.device)


def _bits(tensor: Tensor) -> Tensor:
    """The same memory as bytes: transfers that do not compute then take any dtype."""
    return tensor.view(-1).view(torch.uint8)


def init_group(name: str = "world", timeout_s: float = 20.0) -> Group:
    """Opens the group of all ranks that the launch started; one is open at a time.

    Ranks that open groups of the same names in the same order meet. ``timeout_s`` bounds each collective. Raises
    ``RuntimeError`` where not all ranks came within ``START_TIMEOUT_S``.
    """
    global _store
    # A time-out is then raised where the result is waited for, instead of ending the process
    os.environ.setdefault("TORCH_NCCL_BLOCKING_WAIT", "1")
    device, backend = local_device(), local_backend()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    rank, world_size = _variable("RANK", 0), _variable("WORLD_SIZE", 1)
    if _store is None:
        start = timedelta(seconds=START_TIMEOUT_S)
        _store = c10d.HashStore() if world_size == 1 else next(rendezvous("env://", timeout=start))[0]
    _opened[name] = _opened.get(name, 0) + 1
    store = c10d.PrefixStore(f"{name}/{_opened[name]}", _store)
    store.set(f"here/{rank}", "1")
    store.wait([f"here/{peer}" for peer in range(world_size)], timedelta(seconds=START_TIMEOUT_S))
    c10d.init_process_group(
        backend, store=store, rank=rank, world_size=world_size, timeout=timedelta(seconds=timeout_s)
    )
    opened = Group(range(world_size), rank, device, backend, c10d.group.WORLD)
    opened.barrier()  # NCCL connects a group's ranks in its first collective, which has to have all of them
    return opened
