"""Router of requests over the ranks of a group.

Every rank serves; rank 0 is also where requests come in. All ranks call `step` together. In one step, each rank
launches its batch; while it runs, rank 0 sends every rank its commands and requests that left another rank in the
step before arrive; the batch's tokens are collected; requests that were told to move leave; every rank reports to
rank 0. A moved request is so on its way from the end of one step to the middle of the next.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ..comm import Group
from ..tensor import Tensor
from .engine import Engine, StepOutput
from .request import Request

COMMAND_TAG = 1
REPORT_TAG = 2
TRANSFER_TAG = 3


@dataclass
class _Record:
    """What rank 0 knows of a request; `rank` is None until it was dispatched."""

    request_id: str
    prompt: list[int]
    max_new_tokens: int
    seed: int
    rank: int | None = None
    output: list[int] = field(default_factory=list)
    finished: bool = False


class Router:
    """One rank's end of the router. `submit`, `abort`, `migrate` and what they tell about requests are rank 0's."""

    def __init__(self, group: Group, engine: Engine, max_inflight: int = 16) -> None:
        """Serve with `engine` on this rank of `group`; no rank gets more than `max_inflight` requests at a time."""
        self.group = group
        self.engine = engine
        self.max_inflight = max_inflight
        self._records: dict[str, _Record] = {}
        self._pending: deque[_Record] = deque()
        self._load = [0] * group.world_size
        self._commands: list[list[tuple]] = [[] for _ in range(group.world_size)]
        self._moving: set[str] = set()
        self._expected: list[tuple[str, int]] = []

    def submit(self, request_id: str, prompt: list[int], max_new_tokens: int, seed: int = 0) -> None:
        """Take in a request. It is dispatched to the least loaded rank once one has room."""
        self._require_front("submit")
        if request_id in self._records:
            raise ValueError(f"request {request_id} exists already; use a new id")
        if not prompt or max_new_tokens < 1:
            raise ValueError(
                f"request {request_id} has {len(prompt)} prompt tokens and max_new_tokens {max_new_tokens}; "
                "both are at least 1"
            )
        cache = self.engine.cache
        if cache.blocks_for(len(prompt) + max_new_tokens) > cache.num_blocks:
            raise ValueError(f"request {request_id} does not fit a rank's cache of {cache.num_blocks} blocks; shorten it")
        record = _Record(request_id, list(prompt), max_new_tokens, seed)
        self._records[request_id] = record
        self._pending.append(record)

    def abort(self, request_id: str) -> bool:
        """Drop a request, wherever it is; False if it is unknown or has finished. Its tokens are dropped with it."""
        self._require_front("abort")
        record = self._records.get(request_id)
        if record is None or record.finished:
            return False
        del self._records[request_id]
        if record.rank is not None:
            self._commands[record.rank].append(("abort", request_id))
        return True

    def migrate(self, request_id: str, destination: int) -> bool:
        """Move a dispatched request to another rank.

        False if it cannot move: it is unknown, finished, not dispatched yet, there already, or on its way.
        """
        self._require_front("migrate")
        if not 0 <= destination < self.group.world_size:
            raise ValueError(f"there is no rank {destination} in a group of {self.group.world_size}")
        record = self._records.get(request_id)
        if record is None or record.finished or record.rank is None or record.rank == destination:
            return False
        if request_id in self._moving:
            return False
        self._moving.add(request_id)
        self._commands[record.rank].append(("send", request_id, destination))
        self._commands[destination].append(("expect", request_id, record.rank))
        self._load[record.rank] -= 1
        self._load[destination] += 1
        record.rank = destination
        return True

    def status(self, request_id: str) -> str | None:
        """Return "queued", "running" or "finished", None for a request that is unknown, aborted or taken."""
        self._require_front("status")
        record = self._records.get(request_id)
        if record is None:
            return None
        if record.finished:
            return "finished"
        return "queued" if record.rank is None else "running"

    def rank_of(self, request_id: str) -> int | None:
        """Return the rank that a request was dispatched or is moving to, None if there is none."""
        self._require_front("rank_of")
        record = self._records.get(request_id)
        return None if record is None else record.rank

    def output(self, request_id: str) -> list[int]:
        """Return the tokens that a request has generated so far. Raises KeyError for an unknown one."""
        self._require_front("output")
        return list(self._records[request_id].output)

    def take(self, request_id: str) -> list[int]:
        """Return the tokens of a finished request and forget it."""
        self._require_front("take")
        record = self._records.get(request_id)
        if record is None or not record.finished:
            raise ValueError(f"request {request_id} is unknown or has not finished; step until its status is 'finished'")
        del self._records[request_id]
        return record.output

    def load(self, rank: int) -> int:
        """Return how many requests are on a rank or on their way to it."""
        self._require_front("load")
        return self._load[rank]

    def step(self) -> bool:
        """Run one step, together with every other rank; False once nothing is left to do."""
        self.engine.launch()
        idle, commands = self._exchange_commands()
        outgoing = []
        expected = []
        for command in commands:
            kind, request_id = command[0], command[1]
            if kind == "submit":
                prompt, max_new_tokens, seed = command[2:]
                self.engine.submit(Request(request_id, prompt, max_new_tokens, seed))
            elif kind == "abort":
                self.engine.abort(request_id)
            elif kind == "send":
                outgoing.append((request_id, command[2]))
            else:
                expected.append((request_id, command[2]))
        arrived = self._receive_requests()
        self._expected = expected
        outputs = self.engine.collect()
        for request_id, destination in outgoing:
            self._send_request(request_id, destination)
        self._exchange_reports(outputs, arrived)
        return not idle

    def run_until_idle(self, max_steps: int = 1000) -> int:
        """Step until nothing is left to do and return the number of steps. Every rank calls it.

        Raises RuntimeError, on every rank, if `max_steps` are not enough.
        """
        for steps in range(1, max_steps + 1):
            if not self.step():
                return steps
        raise RuntimeError(f"rank {self.group.rank} still has {self.engine.num_requests} requests after {max_steps} steps")

    def _exchange_commands(self) -> tuple[bool, list[tuple]]:
        """Give every rank its commands of this step and return whether all is done, and this rank's."""
        if self.group.rank != 0:
            return self.group.recv(0, tag=COMMAND_TAG)
        self._dispatch()
        active = any(not record.finished for record in self._records.values())
        idle = not active and not self._moving and not any(self._commands)
        batches, self._commands = self._commands, [[] for _ in range(self.group.world_size)]
        for rank in range(1, self.group.world_size):
            self.group.send((idle, batches[rank]), rank, tag=COMMAND_TAG)
        return idle, batches[0]

    def _dispatch(self) -> None:
        while self._pending:
            rank = min(range(self.group.world_size), key=lambda candidate: self._load[candidate])
            if self._load[rank] >= self.max_inflight:
                return
            record = self._pending.popleft()
            record.rank = rank
            self._load[rank] += 1
            command = ("submit", record.request_id, record.prompt, record.max_new_tokens, record.seed)
            self._commands[rank].append(command)

    def _send_request(self, request_id: str, destination: int) -> None:
        """Hand a request to another rank; a None goes there if it is no longer here."""
        detached = self.engine.detach(request_id)
        if detached is None:
            self.group.send(None, destination, tag=TRANSFER_TAG)
            return
        request, rows = detached
        header = (request.prompt, request.max_new_tokens, request.seed, request.output, request.num_computed)
        self.group.send(header, destination, tag=TRANSFER_TAG)
        self.group.send(Tensor(rows), destination, tag=TRANSFER_TAG)

    def _receive_requests(self) -> list[str]:
        """Take in the requests that left for this rank in the step before and return their ids."""
        for request_id, source in self._expected:
            header = self.group.recv(source, tag=TRANSFER_TAG)
            if header is None:
                continue
            prompt, max_new_tokens, seed, output, num_computed = header
            rows = self.group.recv(source, tag=TRANSFER_TAG).elements()
            request = Request(request_id, prompt, max_new_tokens, seed, output, num_computed=num_computed)
            self.engine.attach(request, rows)
        return [request_id for request_id, _ in self._expected]

    def _exchange_reports(self, outputs: list[StepOutput], arrived: list[str]) -> None:
        """Tell rank 0 what happened on this rank; on rank 0, take in what happened on all."""
        report = ([(output.request_id, output.token, output.finished) for output in outputs], arrived)
        if self.group.rank != 0:
            self.group.send(report, 0, tag=REPORT_TAG)
            return
        for rank in range(self.group.world_size):
            outputs, arrived = report if rank == 0 else self.group.recv(rank, tag=REPORT_TAG)
            self._moving.difference_update(arrived)
            for request_id, token, finished in outputs:
                record = self._records.get(request_id)
                if record is None:
                    continue
                record.output.append(token)
                if finished:
                    record.finished = True
                    self._load[record.rank] -= 1

    def _require_front(self, operation: str) -> None:
        if self.group.rank != 0:
            raise RuntimeError(f"{operation} was called on rank {self.group.rank}; requests are managed on rank 0")
