"""Continuous batching of one rank: which requests compute in a step, and who gives way when blocks run out."""

from __future__ import annotations

from collections import deque

from .kv_cache import PagedKVCache
from .request import Request


class Scheduler:
    """Queues of one rank.

    A request is in exactly one of `waiting` (never ran), `running` (has blocks) and `preempted` (ran, gave its blocks
    back, computes them again later). Preempted requests come before waiting ones.
    """

    def __init__(self, cache: PagedKVCache, max_running: int = 8) -> None:
        self.cache = cache
        self.max_running = max_running
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.preempted: deque[Request] = deque()
        self.num_preemptions = 0

    @property
    def num_requests(self) -> int:
        """Number of requests on this rank."""
        return len(self.waiting) + len(self.running) + len(self.preempted)

    def add(self, request: Request) -> None:
        """Queue a new request.

        Raises ValueError if it could not finish even with the whole cache for itself.
        """
        needed = self.cache.blocks_for(len(request.prompt) + request.max_new_tokens)
        if needed > self.cache.num_blocks:
            raise ValueError(
                f"request {request.request_id} needs {needed} blocks and the cache has {self.cache.num_blocks}; "
                "shorten the prompt or lower max_new_tokens"
            )
        self.waiting.append(request)

    def schedule(self) -> list[Request]:
        """Choose the requests of this step and reserve a slot for each of their tokens.

        Running requests come first, oldest first; the youngest gives its blocks back when they run out. Others are
        admitted only in a step that preempts nobody.
        """
        before = self.num_preemptions
        for request in list(self.running):
            if request not in self.running:
                continue
            while self.cache.blocks_missing(request.blocks, request.length) > self.cache.num_free:
                victim = self.running[-1]
                self.preempt(victim)
                if victim is request:
                    break
            else:
                self.cache.reserve(request.blocks, request.length)
        if self.num_preemptions == before:
            self._admit()
        return list(self.running)

    def _admit(self) -> None:
        while len(self.running) < self.max_running:
            queue = self.preempted or self.waiting
            if not queue:
                return
            request = queue[0]
            if self.cache.blocks_missing(request.blocks, request.length) > self.cache.num_free:
                return
            queue.popleft()
            self.cache.reserve(request.blocks, request.length)
            self.running.append(request)

    def preempt(self, request: Request) -> None:
        """Take the blocks of a running request; it computes its rows again when it is admitted next."""
        self.running.remove(request)
        self.cache.free(request.blocks)
        request.blocks = []
        request.num_computed = 0
        self.preempted.appendleft(request)
        self.num_preemptions += 1

    def finish(self, request: Request) -> None:
        """Remove a request that has all its tokens and free its blocks."""
        if request in self.running:
            self.running.remove(request)
        self.cache.free(request.blocks)

    def abort(self, request_id: str) -> bool:
        """Remove a request and free its blocks; False if it is not here."""
        for request in self.running:
            if request.request_id == request_id:
                self.running.remove(request)
                self.cache.free(request.blocks)
                return True
        for request in self.waiting:
            if request.request_id == request_id:
                self.waiting.remove(request)
                return True
        return False

    def find(self, request_id: str) -> Request | None:
        """Return the running request of this id, None if there is none."""
        for request in self.running:
            if request.request_id == request_id:
                return request
        return None
