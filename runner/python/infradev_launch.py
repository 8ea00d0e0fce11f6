"""Starts the ranks of one launch inside the sandbox and says how each of them ended.

Reads one JSON line from standard input::

    {"nproc", "launcher": "ranks" | "torchrun" | "pytest" | "script", "private_network": bool, "cwd", "path": [...],
     "args": [...], "fds": [[event, stdout, stderr], ...], "control": fd,
     "limits": {"data_bytes": n | null, "processes": n | null}}

and writes one JSON line per event to the control descriptor: ready, exit (rank, code or signal, time, usage), evidence
(a part of a file that a framework left), dumped, end. Each rank is a fork of this process, which has loaded Python,
pytest and the plugin and nothing of the candidate; it gets its own descriptors only. Later lines on standard input:
``dump`` (each rank prints its stacks to its stderr, and its flight recorder writes what it has), ``kill``. The end of
standard input ends the ranks too; neither that nor the end is said then, and the launch counts as lost. No process
of the launch outlives this one where the system can adopt orphans (Linux), and no rank outlives it anywhere on Linux.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import inspect
import json
import os
import random
import resource
import selectors
import signal
import socket
import sys
import time

import _pytest.config
import infradev_report
import infradev_script
import pytest
from infradev_evidence import Evidence
from infradev_program import after_standard_library

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


# Ranks are forks: what is loaded here is loaded once, and `_settle` keeps them from looking through it again.
gc.disable()

_METERS = ("gc", "linecache", "multiprocessing", "resource", "socket", "statistics", "subprocess", "threading", "time")
_METERS += ("tracemalloc", "weakref")
# What pytest loads when it is configured, and when it shows the first failure.
_LATE = ("_pytest._argcomplete", "encodings.unicode_escape", "getpass", "pdb", "pwd", "readline")


def _preload() -> None:
    """Loads what measures and pytest's own plugins once: each rank finds them loaded, as the standard library has them."""
    for name in _METERS:
        importlib.import_module(name)
    for name in (*(f"_pytest.{plugin}" for plugin in getattr(_pytest.config, "default_plugins", ())), *_LATE):
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def _settle() -> None:
    """Spares each rank work over what is loaded by now: pytest collects garbage five times as it ends."""
    inspect.getmodule(compile("", "<none>", "exec"))  # fills the table of modules by file that tracebacks are shown with
    gc.freeze()
    gc.enable()


_FIRST_PORT = 20_000


def _reserve_port(private: bool) -> tuple[int, socket.socket | None]:
    """A port for rank 0's store, and what keeps other launches of this host from choosing it too.

    In a network of its own any port is free. Elsewhere a port below those that the kernel gives to connections is
    taken, so that none of them can take it before rank 0 does; a name in the abstract namespace, which ends with this
    process, marks it as taken among launches.
    """
    if private:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1], None
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as bounds:
            ceiling = int(bounds.read().split()[0])
    except (OSError, ValueError):
        ceiling = 32_768
    first = min(_FIRST_PORT, max(1_024, ceiling - 8_192))
    choice = random.SystemRandom()
    for _ in range(500):
        port = choice.randrange(first, max(first + 1, ceiling))
        mark = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if sys.platform == "linux":
                mark.bind(f"\0infradev-port-{port}")
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind(("127.0.0.1", port))
            return port, mark
        except OSError:
            mark.close()
    raise SystemExit(f"no free port between {first} and {ceiling}")


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


def _rank_variables(spec: dict, rank: int, port: int) -> dict[str, str]:
    """The contract of torch's `env://`, and for programs started the way torchrun starts them the rest of torchrun's."""
    if spec["launcher"] == "pytest":
        return {}
    nproc = str(spec["nproc"])
    variables = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": nproc,
        "LOCAL_WORLD_SIZE": nproc,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    if spec["launcher"] == "ranks":
        return variables
    return {
        **variables,
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_NAME": "default",
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": nproc,
        "TORCHELASTIC_RUN_ID": "infradev",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        # No agent serves a store here: rank 0 does, as without torchrun.
        "TORCHELASTIC_USE_AGENT_STORE": "False",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    }


def _become_rank(spec: dict, rank: int, port: int, evidence: dict[str, str]) -> None:
    """Turns this fork into a rank: its own descriptors, environment, limits and import path."""
    launcher = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:
        os._exit(1)
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
    os.environ.update(_rank_variables(spec, rank, port))
    os.environ.update(evidence)
    os.environ["PYTHONPATH"] = os.pathsep.join([*spec["path"], os.path.dirname(os.path.abspath(__file__))])
    os.chdir(spec["cwd"])
    infradev_report.start(event)
    at = after_standard_library()
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
        self._evidence = Evidence(spec["nproc"])
        self._dumping = False
        # Whoever started the launch is gone: what its ranks die of from then on is told nobody as their own end.
        self._abandoned = False

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
        port, mark = _reserve_port(self._spec["private_network"])
        for rank in range(self._spec["nproc"]):
            kept = {} if self._spec["launcher"] == "pytest" else self._evidence.variables(rank)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                os.close(wake_read)
                os.close(wake_write)
                if mark is not None:
                    mark.close()
                _become_rank(self._spec, rank, port, kept)
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
            for key, _ in selector.select(timeout=0.05 if self._dumping else 1.0):
                if key.fd == wake_read:
                    try:
                        os.read(wake_read, 4_096)
                    except BlockingIOError:
                        continue
                    continue
                part = os.read(0, 4_096)
                if not part:
                    selector.unregister(0)
                    self._abandoned = True
                    self._signal(signal.SIGKILL)
                    continue
                self._obey(part)
            self._reap()
            if self._dumping and self._evidence.is_ready():
                self._dumping = False
                self._hand_over()
                self._say("dumped")
        self._end_orphans()
        self._hand_over()
        self._evidence.remove()
        if not self._abandoned:
            self._say("end")
        return None

    def _hand_over(self) -> None:
        for part in self._evidence.parts():
            self._say("evidence", **part)

    def _obey(self, received: bytes) -> None:
        *lines, self._commands = (self._commands + received).split(b"\n")
        for line in lines:
            if line != b"dump":
                self._signal(signal.SIGKILL)
                continue
            self._signal(signal.SIGUSR1)
            self._dumping = True
            self._evidence.ask(self._ranks.values())

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
            if rank is None or self._abandoned:
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
    infradev_report.compile_ahead(arg for arg in spec["args"] if arg.endswith(".py") and os.path.isabs(arg))
    _settle()
    _close_others({0, 1, 2, spec["control"], *(fd for fds in spec["fds"] for fd in fds)})
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    rank = _Launch(spec, commands).run()
    if rank is None:
        return 0
    if spec["launcher"] == "script":
        return infradev_script.run(spec["path"])
    _prctl(_PR_SET_DUMPABLE, 1)
    return int(pytest.main(list(spec["args"]), plugins=[infradev_report]))


if __name__ == "__main__":
    sys.exit(_main())
