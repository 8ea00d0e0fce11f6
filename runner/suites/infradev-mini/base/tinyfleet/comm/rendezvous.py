"""How ranks find each other: rank 0 listens on the master port, hands out addresses, and a full mesh is connected.

Meetings are named. Ranks that come for another name are told to come again, so that the ranks of consecutive
groups meet even if some arrive late from the one before.
"""

from __future__ import annotations

import errno
import json
import socket
import time
from typing import Any

from .errors import CollectiveTimeout, CommError

_RETRY_S = 0.02
_HELLO_TIMEOUT_S = 1.0
_listeners: dict[tuple[str, int], socket.socket] = {}


class _Retry(Exception):
    """This attempt failed in a way that a later one may not."""


def _left(deadline: float, what: str) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise CollectiveTimeout(f"rendezvous: {what}: time is up; check that every rank was started")
    return remaining


def _send_line(sock: socket.socket, value: Any) -> None:
    sock.sendall(json.dumps(value).encode() + b"\n")


def _read_line(sock: socket.socket) -> Any:
    """One JSON line, read byte by byte so that nothing after it is consumed; raises _Retry at the stream's end."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = sock.recv(1)
        if not byte:
            raise _Retry("connection closed")
        line += byte
    return json.loads(line)


def _master_listener(addr: str, port: int, deadline: float) -> socket.socket:
    """The listening socket on the master port; kept for the process's life, so that nobody else takes the port."""
    while (addr, port) not in _listeners:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((addr, port))
            listener.listen(128)
            _listeners[addr, port] = listener
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise CommError(f"rendezvous: rank 0 cannot listen on {addr}:{port}: {error.strerror}") from error
            _left(deadline, f"port {port} of {addr} is taken")
            time.sleep(_RETRY_S)
    return _listeners[addr, port]


def _mesh_listener(host: str, world_size: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((host, 0))
    listener.listen(world_size)
    return listener


def _host_meeting(name: str, world_size: int, addr: str, port: int, own: list[Any], deadline: float) -> list[Any]:
    """Rank 0's part: collect every rank's address and send the table to all. Returns the table by rank."""
    listener = _master_listener(addr, port, deadline)
    table: list[Any] = [own] + [None] * (world_size - 1)
    clients: dict[int, socket.socket] = {}
    try:
        while None in table:
            missing = [rank for rank, entry in enumerate(table) if entry is None]
            listener.settimeout(_left(deadline, f"group {name!r}: ranks {missing} did not come"))
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            client.settimeout(_HELLO_TIMEOUT_S)
            try:
                hello = _read_line(client)
                if hello["name"] != name or hello["world_size"] != world_size:
                    _send_line(client, {"again": f"group {name!r} of {world_size} ranks is meeting"})
                    client.close()
                    continue
                rank = hello["rank"]
            except (OSError, ValueError, KeyError, TypeError, _Retry):
                client.close()
                continue
            if rank in clients:
                clients[rank].close()
            clients[rank] = client
            table[rank] = hello["address"]
        for client in clients.values():
            try:
                _send_line(client, {"table": table})
            except OSError:
                continue  # that rank is gone: connecting the mesh names it
        return table
    finally:
        for client in clients.values():
            client.close()


def _join_meeting(
    name: str, rank: int, world_size: int, addr: str, port: int, deadline: float
) -> tuple[list[Any], socket.socket]:
    """Another rank's part: announce an address to rank 0. Returns the table by rank and the listening socket."""
    reason = "no attempt was made"
    while True:
        timeout_s = _left(deadline, f"group {name!r}: rank {rank} got no answer at {addr}:{port} ({reason})")
        listener = None
        try:
            with socket.create_connection((addr, port), timeout=timeout_s) as master:
                if master.getsockname() == master.getpeername():
                    raise _Retry("connected to itself")  # TCP's simultaneous open on an unused local port
                host = master.getsockname()[0]
                listener = _mesh_listener(host, world_size)
                address = [host, listener.getsockname()[1]]
                _send_line(master, {"name": name, "rank": rank, "world_size": world_size, "address": address})
                answer = _read_line(master)
                if "table" in answer:
                    return answer["table"], listener
                raise _Retry(answer["again"])
        except (OSError, ValueError, _Retry) as error:
            if listener is not None:
                listener.close()
            reason = str(error)
            time.sleep(_RETRY_S)


def _connect_mesh(
    name: str, rank: int, table: list[Any], listener: socket.socket, deadline: float
) -> dict[int, socket.socket]:
    """Connect to every lower rank, accept every higher one. Returns the sockets by peer rank."""
    sockets: dict[int, socket.socket] = {}
    try:
        for peer in range(rank):
            what = f"group {name!r}: rank {rank} cannot reach rank {peer}"
            try:
                sock = socket.create_connection(tuple(table[peer]), timeout=_left(deadline, what))
                sockets[peer] = sock
                _send_line(sock, {"name": name, "rank": rank})
            except OSError as error:
                raise CommError(f"rendezvous: {what}: {error}") from error
        while len(sockets) < len(table) - 1:
            missing = [peer for peer in range(rank + 1, len(table)) if peer not in sockets]
            listener.settimeout(_left(deadline, f"group {name!r}: ranks {missing} did not connect to rank {rank}"))
            try:
                sock, _ = listener.accept()
            except TimeoutError:
                continue
            sock.settimeout(_HELLO_TIMEOUT_S)
            try:
                hello = _read_line(sock)
                accepted = hello["name"] == name and hello["rank"] in missing
            except (OSError, ValueError, KeyError, TypeError, _Retry):
                accepted = False
            if accepted:
                sockets[hello["rank"]] = sock
            else:
                sock.close()
        return sockets
    except BaseException:
        for sock in sockets.values():
            sock.close()
        raise


def meet(name: str, rank: int, world_size: int, addr: str, port: int, timeout_s: float) -> dict[int, socket.socket]:
    """Meet all `world_size` ranks of group `name` and return a connected socket for each of the others.

    Raises CollectiveTimeout if a rank does not come within `timeout_s`, CommError if the port cannot be used.
    """
    deadline = time.monotonic() + timeout_s
    if rank == 0:
        listener = _mesh_listener(addr, world_size)
        try:
            table = _host_meeting(name, world_size, addr, port, [addr, listener.getsockname()[1]], deadline)
            return _connect_mesh(name, rank, table, listener, deadline)
        finally:
            listener.close()
    table, listener = _join_meeting(name, rank, world_size, addr, port, deadline)
    try:
        return _connect_mesh(name, rank, table, listener, deadline)
    finally:
        listener.close()
