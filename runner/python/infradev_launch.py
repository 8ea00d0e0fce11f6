"""Starts the ranks of one launch inside the sandbox and says how each of them ended.

Reads one JSON line from standard input::

    {"nproc", "ranked", "cwd", "path": [...], "args": [...], "fds": [[event, stdout, stderr], ...], "control": fd,
     "limits": {"data_bytes": n | null, "processes": n | null}}

and writes one JSON line per event to the control descriptor: ready, exit (rank, code or signal, time, usage), end.
Each rank is a fork of this process, which has loaded Python, pytest and the plugin and nothing of the candidate; it
gets its own descriptors only. Later lines on standard input: ``dump`` (each rank prints its stacks to its stderr),
``kill``; the end of standard input counts as ``kill``. No process of the launch outlives this one where the system
can adopt orphans (Linux).
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import resource
import selectors
import signal
import socket
import sys
import time

import _pytest.config
import infradev_report
import pytest

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


_METERS = ("gc", "linecache", "multiprocessing", "resource", "socket", "statistics", "subprocess", "threading", "time")
_METERS += ("tracemalloc", "weakref")


def _preload() -> None:
    """Loads what measures and pytest's own plugins once: each rank finds them loaded, as the standard library has them."""
    for name in _METERS:
        importlib.import_module(name)
    for name in getattr(_pytest.config, "default_plugins", ()):
        try:
            importlib.import_module(f"_pytest.{name}")
        except ImportError:
            continue


def _after_standard_library() -> int:
    """Where folders of the candidate belong on sys.path: behind Python's own modules, before installed packages."""
    standard = os.path.dirname(os.path.abspath(os.__file__))
    own = [at for at, entry in enumerate(sys.path) if entry == standard or os.path.basename(entry) == "lib-dynload"]
    return max(own, default=-1) + 1


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _read_spec() -> tuple[dict, bytes]:
    """The specification, and what of later lines came with it."""
    received = b""
    while b"\n" not in received:
        part = os.read(0, 65_536)
        if not part:
            raise SystemExit("the launch specification ended early")
        received += part
    line, _, rest = received.partition(b"\n")
    return json.loads(line), rest


def _close_others(keep: set[int]) -> None:
    """Closes what a parent left open by mistake: a rank inherits what the specification names and nothing else."""
    ceiling = 65_536
    bounds = [2, *sorted(fd for fd in keep if fd > 2), ceiling]
    for low, high in zip(bounds, bounds[1:]):
        os.closerange(low + 1, high)


def _become_rank(spec: dict, rank: int, port: int) -> None:
    """Turns this fork into a rank: its own descriptors, environment, limits and import path."""
    event, stdout, stderr = spec["fds"][rank]
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.close(null)
    keep = {0, 1, 2, event}
    for descriptors in spec["fds"]:
        for descriptor in descriptors:
            if descriptor not in keep:
                os.close(descriptor)
    os.close(spec["control"])
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    for caught in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(caught, signal.default_int_handler if caught == signal.SIGINT else signal.SIG_DFL)
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True, chain=False)
    limits = spec["limits"]
    if limits["data_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limits["data_bytes"], limits["data_bytes"]))
    if limits["processes"] is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (limits["processes"], limits["processes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if spec["ranked"]:
        os.environ.update(
            RANK=str(rank),
            LOCAL_RANK=str(rank),
            WORLD_SIZE=str(spec["nproc"]),
            LOCAL_WORLD_SIZE=str(spec["nproc"]),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port),
        )
    os.environ["PYTHONPATH"] = os.pathsep.join([*spec["path"], os.path.dirname(os.path.abspath(__file__))])
    os.chdir(spec["cwd"])
    infradev_report.start(event)
    at = _after_standard_library()
    sys.path[at:at] = spec["path"]
    sys.argv = ["pytest", *spec["args"]]


def _children() -> list[int]:
    """Processes whose parent is this one: ranks, and orphans that this process adopted."""
    found = []
    me = os.getpid()
    try:
        entries = os.listdir("/proc")
    except OSError:
        return found
    for entry in entries:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:
                after_name = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == me:
            found.append(int(entry))
    return found


class _Launch:
    def __init__(self, spec: dict, commands: bytes) -> None:
        self._spec = spec
        self._commands = commands
        self._control = spec["control"]
        self._ranks: dict[int, int] = {}

    def _say(self, event: str, **fields) -> None:
        line = json.dumps({"event": event, "time": time.time(), **fields}).encode() + b"\n"
        while line:
            line = line[os.write(self._control, line) :]

    def run(self) -> int | None:
        """Runs the ranks to their end. Returns None in this process, the rank in each fork."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        port = _free_port()
        for rank in range(self._spec["nproc"]):
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                os.close(wake_read)
                os.close(wake_write)
                _become_rank(self._spec, rank, port)
                return rank
            self._ranks[pid] = rank
        for descriptors in self._spec["fds"]:
            for descriptor in descriptors:
                os.close(descriptor)
        self._say("ready", port=port)
        selector = selectors.DefaultSelector()
        selector.register(0, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        self._obey(b"")
        while self._ranks:
            for key, _ in selector.select(timeout=1.0):
                if key.fd == wake_read:
                    try:
                        os.read(wake_read, 4_096)
                    except BlockingIOError:
                        continue
                    continue
                part = os.read(0, 4_096)
                if not part:
                    selector.unregister(0)
                    self._signal(signal.SIGKILL)
                    continue
                self._obey(part)
            self._reap()
        self._end_orphans()
        self._say("end")
        return None

    def _obey(self, received: bytes) -> None:
        *lines, self._commands = (self._commands + received).split(b"\n")
        for line in lines:
            self._signal(signal.SIGUSR1 if line == b"dump" else signal.SIGKILL)

    def _signal(self, number: int) -> None:
        for pid in self._ranks:
            os.kill(pid, number)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            rank = self._ranks.pop(pid, None)
            if rank is None:
                continue
            died = os.WIFSIGNALED(status)
            self._say(
                "exit",
                rank=rank,
                code=None if died else os.WEXITSTATUS(status),
                signal=signal.Signals(os.WTERMSIG(status)).name if died else None,
                max_rss_kb=usage.ru_maxrss // 1024 if sys.platform == "darwin" else usage.ru_maxrss,
                user_s=usage.ru_utime,
                system_s=usage.ru_stime,
            )

    def _end_orphans(self) -> None:
        """Kills what the ranks left behind, and what that leaves behind, until nothing is left."""
        for _ in range(200):
            left = _children()
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.005)
            self._reap()


def _main() -> int:
    _preload()
    spec, commands = _read_spec()
    _close_others({0, 1, 2, spec["control"], *(fd for fds in spec["fds"] for fd in fds)})
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    rank = _Launch(spec, commands).run()
    if rank is None:
        return 0
    _prctl(_PR_SET_DUMPABLE, 1)
    return int(pytest.main(list(spec["args"]), plugins=[infradev_report]))


if __name__ == "__main__":
    sys.exit(_main())
