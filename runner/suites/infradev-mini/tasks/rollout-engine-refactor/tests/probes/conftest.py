"""A group for each probe, and a counter of bytes that does not depend on the group's own statistics."""

import socket

import pytest

from tinyfleet.comm import init_group


@pytest.fixture
def group(request):
    opened = init_group(name=request.node.nodeid, timeout_s=5.0)
    yield opened
    opened.close()


class Wire:
    """Bytes that this process handed to its sockets, frame headers included."""

    def __init__(self):
        self.sent = 0


@pytest.fixture
def wire(monkeypatch):
    counter = Wire()

    def counting(name):
        original = getattr(socket.socket, name)

        def method(self, data, *rest):
            result = original(self, data, *rest)
            counter.sent += len(memoryview(data).cast("B")) if result is None else result
            return result

        return method

    for name in ("send", "sendall"):
        monkeypatch.setattr(socket.socket, name, counting(name), raising=False)
    return counter
