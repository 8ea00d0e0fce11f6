"""Payload bytes per operation."""

from __future__ import annotations

from collections import Counter


class Stats:
    """Counts what one rank sent and received: payload bytes without frame headers, by operation.

    Operations are `send` and `recv` (point-to-point) and the collectives' names (`all_reduce`, `all_gather`,
    `reduce_scatter`, `broadcast`, `barrier`). Subgroups count into the statistics of the group they come from.
    """

    def __init__(self) -> None:
        self._sent: Counter[str] = Counter()
        self._received: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()

    def count_call(self, operation: str) -> None:
        """Note one call of `operation`."""
        self._calls[operation] += 1

    def count_sent(self, operation: str, nbytes: int) -> None:
        """Note `nbytes` of payload sent by `operation`."""
        self._sent[operation] += nbytes

    def count_received(self, operation: str, nbytes: int) -> None:
        """Note `nbytes` of payload received by `operation`."""
        self._received[operation] += nbytes

    def bytes_sent(self, operation: str) -> int:
        """Payload bytes that this rank sent in `operation`."""
        return self._sent[operation]

    def bytes_received(self, operation: str) -> int:
        """Payload bytes that this rank received in `operation`."""
        return self._received[operation]

    def calls(self, operation: str) -> int:
        """How often this rank called `operation`."""
        return self._calls[operation]

    def total_sent(self) -> int:
        """Payload bytes that this rank sent, over all operations."""
        return sum(self._sent.values())

    def total_received(self) -> int:
        """Payload bytes that this rank received, over all operations."""
        return sum(self._received.values())

    def reset(self) -> None:
        """Set every count to zero."""
        self._sent.clear()
        self._received.clear()
        self._calls.clear()
