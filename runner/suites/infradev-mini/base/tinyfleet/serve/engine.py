"""One rank's engine: model, cache and scheduler, stepped in two halves.

`launch` chooses the batch and reserves its blocks; the accelerator is then busy with it, reading and writing those
blocks, until `collect` returns its tokens. In between the rank talks to the others, so requests can arrive, leave or
be aborted while the batch runs.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from .blocks import OutOfBlocks
from .kv_cache import PagedKVCache
from .model import TinyModel
from .request import Request
from .scheduler import Scheduler


@dataclass
class EngineStats:
    """Counters since the engine started."""

    steps: int = 0
    tokens_computed: int = 0


@dataclass(frozen=True)
class StepOutput:
    """One generated token of one request."""

    request_id: str
    token: int
    finished: bool


class Engine:
    """Serves requests on one rank."""

    def __init__(self, model: TinyModel, cache: PagedKVCache, max_running: int = 8) -> None:
        if model.width != cache.width:
            raise ValueError(f"the model's rows have {model.width} values, the cache's {cache.width}; make them equal")
        self.model = model
        self.cache = cache
        self.scheduler = Scheduler(cache, max_running)
        self.stats = EngineStats()
        self._batch: list[Request] | None = None

    @property
    def num_requests(self) -> int:
        """Number of requests on this rank."""
        return self.scheduler.num_requests

    def submit(self, request: Request) -> None:
        """Queue a new request."""
        self.scheduler.add(request)

    def abort(self, request_id: str) -> bool:
        """Drop a request; False if it is not on this rank."""
        return self.scheduler.abort(request_id)

    def launch(self) -> None:
        """Choose the batch of this step and start it."""
        if self._batch is not None:
            raise RuntimeError("launch was called while a batch is running; call collect first")
        self._batch = self.scheduler.schedule()

    def collect(self) -> list[StepOutput]:
        """Wait for the running batch and return its tokens, one for each request, in the batch's order."""
        if self._batch is None:
            raise RuntimeError("collect was called while no batch is running; call launch first")
        batch, self._batch = self._batch, None
        outputs = []
        for request in batch:
            token = self._forward(request)
            request.output.append(token)
            if request.finished:
                self.scheduler.finish(request)
            outputs.append(StepOutput(request.request_id, token, request.finished))
        self.stats.steps += 1
        return outputs

    def step(self) -> list[StepOutput]:
        """Run one whole step: launch and collect."""
        self.launch()
        return self.collect()

    def detach(self, request_id: str) -> tuple[Request, array] | None:
        """Take a request off this rank, to go on elsewhere; None if it is not running here.

        Returns the request, without blocks, and a flat copy of the rows of its first `num_computed` tokens.
        """
        request = self.scheduler.find(request_id)
        if request is None:
            return None
        rows = self.cache.export_rows(request.blocks, 0, request.num_computed)
        self.scheduler.running.remove(request)
        self.cache.free(request.blocks)
        request.blocks = []
        return request, rows

    def attach(self, request: Request, rows: array) -> None:
        """Take over a request from another rank, with its rows; without room for them it computes them again later."""
        if len(self.scheduler.running) >= self.scheduler.max_running:
            request.num_computed = 0
            self.scheduler.preempted.append(request)
            return
        try:
            self.cache.reserve(request.blocks, request.num_computed)
        except OutOfBlocks:
            request.num_computed = 0
            self.scheduler.preempted.append(request)
            return
        self.cache.import_rows(request.blocks, 0, rows)
        self.scheduler.running.append(request)

    def reload(self, model: TinyModel) -> None:
        """Serve with other weights from the next step on; running requests compute their rows again."""
        if self._batch is not None:
            raise RuntimeError("reload was called while a batch is running; call collect first")
        if model.width != self.cache.width:
            raise ValueError(
                f"the model's rows have {model.width} values, the cache's {self.cache.width}; make them equal"
            )
        for request in reversed(list(self.scheduler.running)):
            self.scheduler.preempt(request)
        self.model = model

    def _forward(self, request: Request) -> int:
        """Compute the rows that the request lacks, store them, and return the next token."""
        tokens = request.tokens
        blocks = request.blocks
        previous = self.cache.read(blocks, request.num_computed - 1) if request.num_computed else None
        for position in range(request.num_computed, len(tokens)):
            row = self.model.row(tokens[position], position, previous)
            self.cache.write(blocks, position, row)
            previous = row
        self.stats.tokens_computed += len(tokens) - request.num_computed
        request.num_computed = len(tokens)
        return self.model.next_token(lambda position: self.cache.read(blocks, position), len(tokens), request.seed)
