"""A full mesh of TCP connections between the ranks, with framed, tagged messages.

One thread, no background reader: a rank reads from the peer it waits for, and, only while a send is blocked, from
everybody, so that two ranks sending to each other cannot lock up. Unread messages otherwise stay in the kernel's
buffers, which slows a sender down that is too far ahead.
"""

from __future__ import annotations

import pickle
import select
import socket
import struct
import time
from array import array
from collections import defaultdict, deque
from math import prod
from typing import Any, NamedTuple

from ..tensor import ITEMSIZES, TYPECODES, Tensor
from .errors import CollectiveTimeout, CommError, PeerLost

OPERATIONS = ("send", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "barrier")
_MAGIC = b"TF"
_HEADER = struct.Struct("!2sBBQqHQ")  # magic, operation, kind, context, tag, bytes of shape, bytes of payload
_OBJECT, _TENSOR, _EMPTY = range(3)
_DTYPES = tuple(TYPECODES)

Key = tuple[bool, int, int]  # point-to-point?, context, tag


class Message(NamedTuple):
    """A received message: the operation it belongs to, its value, and its payload's bytes."""

    operation: str
    value: Any
    nbytes: int


class _Incoming:
    """The frame that is being read from one peer, part by part."""

    def __init__(self) -> None:
        self.header = bytearray(_HEADER.size)
        self.pending = memoryview(self.header)
        self.stage = "header"
        self.operation = self.kind = self.payload_bytes = 0
        self.key: Key = (True, 0, 0)
        self.shape_bytes = bytearray()
        self.body: bytearray | Tensor | None = None

    def advance(self) -> bool:
        """Go on to the next part after `pending` was filled; True when the frame is complete."""
        if self.stage == "header":
            magic, operation, kind, context, tag, shape_bytes, self.payload_bytes = _HEADER.unpack(self.header)
            if magic != _MAGIC or operation >= len(OPERATIONS) or kind > _EMPTY:
                raise CommError("received a frame that is not tinyfleet's: the connection is out of step")
            self.operation, self.kind = operation, kind
            self.key = (operation == 0, context, tag)
            self.shape_bytes = bytearray(shape_bytes)
            self.stage, self.pending = "shape", memoryview(self.shape_bytes)
        elif self.stage == "shape":
            if self.kind == _TENSOR:
                dtype = _DTYPES[self.shape_bytes[0]]
                shape = struct.unpack(f"!{(len(self.shape_bytes) - 1) // 8}Q", self.shape_bytes[1:])
                if prod(shape) * ITEMSIZES[dtype] != self.payload_bytes:
                    raise CommError(f"received {self.payload_bytes} bytes for a {dtype} tensor of shape {shape}")
                self.body = Tensor(array(TYPECODES[dtype], [0]) * prod(shape), shape)
                self.pending = self.body.raw()
            else:
                self.body = bytearray(self.payload_bytes)
                self.pending = memoryview(self.body)
            self.stage = "payload"
        else:
            return True
        return len(self.pending) == 0 and self.advance()

    def message(self) -> Message:
        value: Any = None
        if self.kind == _TENSOR:
            value = self.body
        elif self.kind == _OBJECT:
            value = pickle.loads(self.body)
        return Message(OPERATIONS[self.operation], value, self.payload_bytes)


class _Peer:
    """One connection, the frame being read from it, and the messages nobody asked for yet."""

    def __init__(self, rank: int, sock: socket.socket) -> None:
        self.rank = rank
        self.sock = sock
        self.incoming = _Incoming()
        self.inbox: defaultdict[Key, deque[Message]] = defaultdict(deque)
        self.lost: str | None = None

    def read(self) -> bool:
        """Read what is there, at most one message; True if one was completed. Notes a lost connection."""
        frame = self.incoming
        while True:
            try:
                count = self.sock.recv_into(frame.pending)
            except (BlockingIOError, InterruptedError):
                return False
            except OSError as error:
                self.lost = error.strerror or str(error)
                return False
            if count == 0:
                self.lost = "connection closed"
                return False
            frame.pending = frame.pending[count:]
            if len(frame.pending) == 0 and frame.advance():
                self.inbox[frame.key].append(frame.message())
                self.incoming = _Incoming()
                return True

    def take(self, key: Key) -> Message | None:
        """The oldest message of `key`, if there is one."""
        queue = self.inbox.get(key)
        if not queue:
            return None
        message = queue.popleft()
        if not queue:
            del self.inbox[key]
        return message

    def raise_lost(self, operation: str) -> None:
        raise PeerLost(f"{operation}: rank {self.rank} is gone ({self.lost})", self.rank)


class Mesh:
    """Connections from this rank to every other rank."""

    def __init__(self, rank: int, sockets: dict[int, socket.socket]) -> None:
        """Take over connected sockets by peer rank."""
        self.rank = rank
        self._peers: dict[int, _Peer] = {}
        for peer, sock in sockets.items():
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[peer] = _Peer(peer, sock)
        self._closed = False

    def _peer(self, rank: int, operation: str) -> _Peer:
        if self._closed:
            raise CommError(f"{operation}: the group is closed")
        return self._peers[rank]

    def send(self, dst: int, operation: str, context: int, tag: int, value: Any, deadline: float) -> int:
        """Send one message and return its payload's bytes; returns once the kernel has taken all of it.

        Raises PeerLost or CollectiveTimeout.
        """
        peer = self._peer(dst, operation)
        shape: bytes = b""
        payload: bytes | memoryview = b""
        if isinstance(value, Tensor):
            kind, payload = _TENSOR, value.contiguous().raw()
            shape = struct.pack(f"!B{value.ndim}Q", _DTYPES.index(value.dtype), *value.shape)
        elif value is None and operation == "barrier":
            kind = _EMPTY
        else:
            kind, payload = _OBJECT, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        code = OPERATIONS.index(operation)
        header = _HEADER.pack(_MAGIC, code, kind, context, tag, len(shape), len(payload)) + shape
        for part in (header, payload):
            self._send_all(peer, memoryview(part), operation, deadline)
        return len(payload)

    def _send_all(self, peer: _Peer, data: memoryview, operation: str, deadline: float) -> None:
        while len(data):
            try:
                data = data[peer.sock.send(data):]
            except (BlockingIOError, InterruptedError):
                if time.monotonic() > deadline or not self._wait(list(self._peers.values()), peer, deadline):
                    raise CollectiveTimeout(
                        f"{operation}: rank {peer.rank} took no data from rank {self.rank} within the time limit"
                    ) from None
            except OSError as error:
                peer.lost = peer.lost or error.strerror or str(error)
                peer.raise_lost(operation)

    def recv(self, src: int, operation: str, context: int, tag: int, deadline: float) -> Message:
        """The next message from `src` with this context and tag.

        Raises PeerLost, CollectiveTimeout, or CommError if the peer is in another collective.
        """
        peer = self._peer(src, operation)
        key = (operation == "send", context, tag)
        while (message := peer.take(key)) is None:
            if peer.lost:
                peer.raise_lost(operation)
            if not self._wait([peer], None, deadline):
                raise CollectiveTimeout(
                    f"{operation}: rank {self.rank} got nothing from rank {src} (tag {tag}) within the time limit"
                )
        if message.operation != operation:
            raise CommError(
                f"rank {self.rank} is in {operation}, rank {src} in {message.operation}: "
                "every rank must call the same collectives in the same order"
            )
        return message

    def poll(self, src: int, context: int, tag: int, deadline: float) -> bool:
        """Whether a point-to-point message is there by `deadline`; raises PeerLost if none can come any more."""
        peer = self._peer(src, "poll")
        key = (True, context, tag)
        while not peer.inbox.get(key):
            if peer.lost:
                peer.raise_lost("poll")
            if not self._wait([peer], None, deadline):
                return False
        return True

    def _wait(self, readers: list[_Peer], writer: _Peer | None, deadline: float) -> bool:
        """Wait for data from `readers` (and read it) or for room to write to `writer`; False at the deadline."""
        poller = select.poll()
        by_descriptor: dict[int, _Peer] = {}
        for peer in readers:
            if not peer.lost:
                by_descriptor[peer.sock.fileno()] = peer
                poller.register(peer.sock, select.POLLIN)
        if writer is not None:
            poller.register(writer.sock, select.POLLOUT | (select.POLLIN if not writer.lost else 0))
        remaining = deadline - time.monotonic()
        events = poller.poll(max(0.0, remaining) * 1000)
        for descriptor, event in events:
            if event & ~select.POLLOUT and descriptor in by_descriptor:
                by_descriptor[descriptor].read()
        return bool(events)

    def close(self) -> None:
        """Close every connection; peers that still wait for this rank see PeerLost."""
        if self._closed:
            return
        self._closed = True
        for peer in self._peers.values():
            peer.sock.close()
            peer.inbox.clear()
