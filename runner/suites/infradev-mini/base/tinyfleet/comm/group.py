"""Process groups: ranks, point-to-point messages and collectives.

Collectives exchange directly between pairs of ranks, and every reduction adds the ranks' contributions in the order
of their ranks. So a result has the same bits on every rank, and does not depend on how a tensor was cut up before it
was reduced. The bytes that a rank sends, for a tensor of B bytes on n ranks: all_reduce 2 (n-1)/n B, reduce_scatter
(n-1)/n B, all_gather (n-1) B for its own part of B bytes, broadcast at most ceil(log2 n) B.
"""

from __future__ import annotations

import hashlib
import os
import time
from array import array
from itertools import repeat
from operator import add, truediv
from typing import Any, Iterable, Sequence

from ..tensor import Tensor
from .errors import CommError
from .rendezvous import meet
from .stats import Stats
from .transport import Mesh

RENDEZVOUS_TIMEOUT_S = 15.0
REDUCTIONS = ("sum", "mean", "max", "min")


def _context(label: str) -> int:
    return int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest(), "big")


def _reduce(parts: Sequence[Tensor], op: str) -> Tensor:
    """Combine flat tensors of one dtype and length, left to right; floating point is added in double precision."""
    values: Iterable[Any] = parts[0].elements()
    combine = {"max": max, "min": min}.get(op, add)
    for part in parts[1:]:
        values = map(combine, values, part.elements())
    if op == "mean":
        values = map(truediv, values, repeat(len(parts)))
    return Tensor(array(parts[0].storage.typecode, values))


def _cut(numel: int, parts: int) -> list[tuple[int, int]]:
    """`parts` ranges (start, stop) that cover `numel` elements, as even as can be, the longer ones first."""
    size, longer = divmod(numel, parts)
    bounds = [part * size + min(part, longer) for part in range(parts + 1)]
    return list(zip(bounds, bounds[1:]))


class Group:
    """Some ranks that communicate; each rank holds its own Group object. Not safe for use by several threads."""

    def __init__(self, mesh: Mesh, ranks: Sequence[int], label: str, timeout_s: float, stats: Stats) -> None:
        """Use `init_group` or `subgroup` instead. `ranks` are the mesh's ranks of the members, in group order."""
        self.ranks = tuple(ranks)
        self.rank = self.ranks.index(mesh.rank)
        self.world_size = len(self.ranks)
        self.timeout_s = timeout_s
        self.stats = stats
        self._mesh = mesh
        self._label = label
        self._id = _context(label)
        self._collectives = 0
        self._subgroups = 0

    def __repr__(self) -> str:
        return f"Group(rank={self.rank}, world_size={self.world_size}, name={self._label!r})"

    # -- point to point -------------------------------------------------------------------------------------------

    def send(self, value: Any, dst: int, tag: int = 0) -> None:
        """Send a Tensor or any picklable object to rank `dst`; returns once the operating system has taken it.

        Raises PeerLost if `dst` is gone, CollectiveTimeout if it takes nothing for `timeout_s`, ValueError for a bad
        rank.
        """
        self._require_peer(dst)
        self.stats.count_call("send")
        self._put(dst, "send", tag, value, self._deadline())

    def recv(self, src: int, tag: int = 0) -> Any:
        """The next value that rank `src` sent with `tag`; messages of one source and tag keep their order.

        Raises PeerLost if `src` is gone, CollectiveTimeout if nothing comes within `timeout_s`.
        """
        self._require_peer(src)
        self.stats.count_call("recv")
        return self._get(src, "send", tag, self._deadline())

    def poll(self, src: int, tag: int = 0, timeout_s: float = 0.0) -> bool:
        """Whether `recv(src, tag)` would return at once, waiting up to `timeout_s` for it; raises PeerLost."""
        self._require_peer(src)
        return self._mesh.poll(self.ranks[src], self._id, tag, time.monotonic() + timeout_s)

    # -- collectives ----------------------------------------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: str = "sum") -> Tensor:
        """Combine `tensor` over the ranks (`sum`, `mean`, `max`, `min`), in place, and return it.

        Every rank passes the same shape and dtype; any number of elements. `mean` needs a floating-point dtype.
        """
        tag, deadline = self._begin("all_reduce"), self._deadline()
        self._require_reduction(tensor, op)
        if self.world_size == 1:
            return tensor
        flat = Tensor(tensor.elements())
        bounds = _cut(flat.numel, self.world_size)
        own = self._exchange_and_reduce("all_reduce", tag, flat, bounds, op, deadline)
        for peer in self._others():
            self._put(peer, "all_reduce", tag, own, deadline)
        for peer in self._others():
            start, stop = bounds[peer]
            flat[start:stop] = self._get_like("all_reduce", tag, peer, own.dtype, (stop - start,), deadline)
        start, stop = bounds[self.rank]
        flat[start:stop] = own
        return tensor.copy_(flat.view(tensor.shape))

    def reduce_scatter(self, tensor: Tensor, op: str = "sum") -> Tensor:
        """Combine `tensor` over the ranks and return this rank's part, the rank-th of `world_size` equal ones.

        The first dimension must be a multiple of `world_size` (else ValueError); `tensor` is left as it is.
        """
        tag, deadline = self._begin("reduce_scatter"), self._deadline()
        self._require_reduction(tensor, op)
        if tensor.ndim == 0 or tensor.shape[0] % self.world_size:
            raise ValueError(
                f"reduce_scatter: the first dimension of shape {tensor.shape} is no multiple of "
                f"{self.world_size} ranks: pad it"
            )
        flat = tensor.contiguous().flatten()
        size = flat.numel // self.world_size
        bounds = [(rank * size, (rank + 1) * size) for rank in range(self.world_size)]
        own = self._exchange_and_reduce("reduce_scatter", tag, flat, bounds, op, deadline)
        return own.view((tensor.shape[0] // self.world_size, *tensor.shape[1:]))

    def all_gather(self, value: Any) -> list[Any]:
        """Every rank's value, by rank. Tensors may differ in shape and dtype; any picklable object will do."""
        tag, deadline = self._begin("all_gather"), self._deadline()
        for peer in self._others():
            self._put(peer, "all_gather", tag, value, deadline)
        own = value.clone() if isinstance(value, Tensor) else value
        return [
            own if peer == self.rank else self._get(peer, "all_gather", tag, deadline)
            for peer in range(self.world_size)
        ]

    def broadcast(self, value: Any, src: int) -> Any:
        """Rank `src`'s value, on every rank.

        Where another rank passes a Tensor, it is overwritten and returned; it must have the source's shape and
        dtype (else ValueError). Other ranks may pass None, and get a new value.
        """
        tag, deadline = self._begin("broadcast"), self._deadline()
        self._require_rank(src)
        position = (self.rank - src) % self.world_size
        reach = 1
        while reach < self.world_size:
            if position < reach and position + reach < self.world_size:
                self._put((self.rank + reach) % self.world_size, "broadcast", tag, value, deadline)
            elif reach <= position < 2 * reach:
                source = (self.rank - reach) % self.world_size
                if isinstance(value, Tensor):
                    value.copy_(self._get_like("broadcast", tag, source, value.dtype, value.shape, deadline))
                else:
                    value = self._get(source, "broadcast", tag, deadline)
            reach *= 2
        return value

    def barrier(self) -> None:
        """Return once every rank has called it."""
        tag, deadline = self._begin("barrier"), self._deadline()
        reach = 1
        while reach < self.world_size:
            self._put((self.rank + reach) % self.world_size, "barrier", tag, None, deadline)
            self._get((self.rank - reach) % self.world_size, "barrier", tag, deadline)
            reach *= 2

    # -- groups ---------------------------------------------------------------------------------------------------

    def subgroup(self, ranks: Sequence[int]) -> Group | None:
        """A group of some of this group's ranks, numbered in the order given; None on ranks that are not members.

        Every rank of this group calls it, in the same order and with the same ranks; nothing is sent. The subgroup
        shares connections, time limit and statistics with this group and ends with it.
        """
        for rank in ranks:
            self._require_rank(rank)
        if not ranks or len(set(ranks)) != len(ranks):
            raise ValueError(f"subgroup: {list(ranks)} must name at least one rank, and none twice")
        self._subgroups += 1
        label = f"{self._label}/{self._subgroups}:{','.join(map(str, ranks))}"
        if self.rank not in ranks:
            return None
        return Group(self._mesh, [self.ranks[rank] for rank in ranks], label, self.timeout_s, self.stats)

    def close(self) -> None:
        """Close the connections, for subgroups too; ranks that still wait for this one see PeerLost."""
        self._mesh.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside ---------------------------------------------------------------------------------------------------

    def _deadline(self) -> float:
        return time.monotonic() + self.timeout_s

    def _others(self) -> list[int]:
        """The other ranks, starting after this one, so that not everybody sends to rank 0 first."""
        return [(self.rank + step) % self.world_size for step in range(1, self.world_size)]

    def _begin(self, operation: str) -> int:
        self.stats.count_call(operation)
        self._collectives += 1
        return self._collectives

    def _require_rank(self, rank: int) -> None:
        if not 0 <= rank < self.world_size:
            raise ValueError(f"rank {rank} is not in this group of {self.world_size} ranks")

    def _require_peer(self, rank: int) -> None:
        self._require_rank(rank)
        if rank == self.rank:
            raise ValueError(f"rank {rank} cannot exchange messages with itself")

    def _require_reduction(self, tensor: Tensor, op: str) -> None:
        if op not in REDUCTIONS:
            raise ValueError(f"unknown reduction {op!r}: use one of {', '.join(REDUCTIONS)}")
        if op == "mean" and tensor.dtype == "i8":
            raise ValueError("mean needs a floating-point dtype: sum i8 tensors and divide")

    def _put(self, dst: int, operation: str, tag: int, value: Any, deadline: float) -> None:
        nbytes = self._mesh.send(self.ranks[dst], operation, self._id, tag, value, deadline)
        self.stats.count_sent(operation, nbytes)

    def _get(self, src: int, operation: str, tag: int, deadline: float) -> Any:
        message = self._mesh.recv(self.ranks[src], operation, self._id, tag, deadline)
        self.stats.count_received("recv" if operation == "send" else operation, message.nbytes)
        return message.value

    def _get_like(
        self, operation: str, tag: int, src: int, dtype: str, shape: tuple[int, ...], deadline: float
    ) -> Tensor:
        tensor = self._get(src, operation, tag, deadline)
        if not isinstance(tensor, Tensor) or tensor.shape != shape or tensor.dtype != dtype:
            got = f"{tensor.dtype} {tensor.shape}" if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ValueError(f"{operation}: rank {src} sent {got}, rank {self.rank} expects {dtype} {shape}")
        return tensor

    def _exchange_and_reduce(
        self, operation: str, tag: int, flat: Tensor, bounds: list[tuple[int, int]], op: str, deadline: float
    ) -> Tensor:
        """Send each rank its range of `flat` and combine what comes for this rank's range, in rank order."""
        for peer in self._others():
            start, stop = bounds[peer]
            self._put(peer, operation, tag, flat[start:stop], deadline)
        start, stop = bounds[self.rank]
        own = flat[start:stop]
        parts = [
            own if peer == self.rank
            else self._get_like(operation, tag, peer, own.dtype, own.shape, deadline)
            for peer in range(self.world_size)
        ]
        return _reduce(parts, op)


def _setting(value: Any, variable: str, default: Any) -> Any:
    if value is not None:
        return value
    found = os.environ.get(variable, default)
    if found is None:
        raise CommError(f"init_group: {variable} is not set: start the ranks with tinyfleet.comm.launch, or pass it")
    return found


def init_group(
    rank: int | None = None,
    world_size: int | None = None,
    master_addr: str | None = None,
    master_port: int | None = None,
    timeout_s: float = 5.0,
    name: str = "default",
) -> Group:
    """Meet the other ranks and return the group of all of them.

    What is not passed comes from RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; without RANK and WORLD_SIZE the group
    has one rank. Rank 0 listens on the master port. Ranks meet by `name`, and wait for each other up to 15 s.
    `timeout_s` limits every later operation. Raises CommError (CollectiveTimeout if a rank does not come).
    """
    rank = int(_setting(rank, "RANK", 0))
    world_size = int(_setting(world_size, "WORLD_SIZE", 1))
    if not 0 <= rank < world_size:
        raise ValueError(f"init_group: rank {rank} is not in a world of {world_size} ranks")
    sockets = {}
    if world_size > 1:
        addr = _setting(master_addr, "MASTER_ADDR", "127.0.0.1")
        port = int(_setting(master_port, "MASTER_PORT", None))
        sockets = meet(name, rank, world_size, addr, port, RENDEZVOUS_TIMEOUT_S)
    return Group(Mesh(rank, sockets), range(world_size), name, timeout_s, Stats())
