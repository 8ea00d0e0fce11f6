"""Reporting from inside a graded pytest process: the event stream, and what probes call.

Probes use two functions::

    from infradev_report import checks, check_resource
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=v, limit=lim, unit="bytes")

As a pytest plugin (``-p infradev_report``) it writes one JSON line for each event to the inherited file descriptor
named by INFRADEV_EVENT_FD, else to the file named by INFRADEV_EVENT_FILE (synced after each line), else nowhere.
Started by hand with neither, the plugin does nothing and the two functions still assert.

Events: session_start, collect_start, collect_error, collected, test_start, call_start (where meters outside of the
process measure: the rank then waits for a line from the parent), report, resource, integrity, session_finish. Each has ``event``, ``seq``, ``time`` (Unix seconds, for order) and ``mono`` (monotonic seconds, for
durations). Under the grader the parent first sends ``{"key", "plan"}`` over the channel; every line is then preceded
by a MAC over its number and bytes, so that a line that this module did not write is recognised. That is one of
several guards: code in the same process could still reach this module, which is what the grader's canaries are for.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import json
import math
import os
import pathlib
import resource as _rusage
import sys
import time
import types
from contextlib import contextmanager

import _pytest.python
import _pytest.reports
import _pytest.runner
import infradev_children
import pluggy._callers
import pluggy._hooks
import pytest
from _pytest.assertion.rewrite import _rewrite_test
from infradev_exceptions import CHECK_ATTRIBUTE, MAX_MESSAGE, describe
from infradev_meter_guard import foreign_meters

PROPERTIES = (
    "value",
    "shape-layout-dtype",
    "state-lifecycle",
    "resource.memory",
    "resource.speed",
    "resource.traffic",
    "condition",
)

_active_checks: list[str] = []

# Taken now, since a test may replace the clocks that the code it checks reads.
_now, _monotonic = time.time, time.monotonic


@contextmanager
def checks(property: str):
    """Names the property that the assertions inside this block check; the innermost block counts.

    Raises ValueError for a property that is not one of PROPERTIES.
    """
    if property not in PROPERTIES:
        raise ValueError(f"unknown property {property!r}; one of: {', '.join(PROPERTIES)}")
    _active_checks.append(property)
    try:
        yield
    except BaseException as error:
        if getattr(error, CHECK_ATTRIBUTE, None) is None:
            try:
                setattr(error, CHECK_ATTRIBUTE, property)
            except Exception:
                pass  # an exception class with slots keeps the test's declared property
        raise
    finally:
        _active_checks.pop()


def check_resource(name: str, value: float, limit: float, unit: str, repeats: int = 1) -> None:
    """Records a measured resource with its limit, then asserts ``value <= limit``.

    ``value`` and ``limit`` are in ``unit``; ``repeats`` says how many measurements ``value`` stands for. Raises
    AssertionError above the limit or where the value is no finite number.
    """
    value, limit = float(value), float(limit)
    if not math.isfinite(value) or not math.isfinite(limit):
        raise AssertionError(f"{name}: {value} {unit} against a limit of {limit} {unit} is no measurement")
    if int(repeats) < 1:
        raise ValueError(f"{name}: repeats must be at least 1, got {repeats}")
    if _session is not None:
        _session.emit(
            "resource",
            id=_session.current,
            name=str(name)[:80],
            value=value,
            limit=limit,
            unit=str(unit)[:20],
            repeats=int(repeats),
            property=_active_checks[-1] if _active_checks else None,
        )
    if value > limit:
        raise AssertionError(f"{name}: {value:g} {unit} exceeds the limit of {limit:g} {unit}")


class _Session:
    """The channel to the grader, and the plan: which ids run, in which order, and where their files stand."""

    def __init__(self, fd: int, *, sync: bool = False, handshake: bool = False) -> None:
        self._fd = fd
        self._sync = sync
        self._pid = os.getpid()
        self._seq = 0
        self._mac = None
        self.current: str | None = None
        self.roots: list[tuple[str, str]] = []
        self.select: list[str] | None = None
        self.rank: int | None = None
        self.gated = False
        self.in_step = False
        if handshake:
            self._shake()
        os.set_inheritable(fd, False)
        identity = os.fstat(fd)
        self._identity = (identity.st_dev, identity.st_ino)
        self._fingerprint = _fingerprint()
        self._changed: set[str] = set()
        self._tests: dict[str, tuple] = {}
        self._codes: dict[types.FunctionType, types.CodeType] = {}
        self._meters = _meters()

    def _shake(self) -> None:
        received = b""
        while not received.endswith(b"\n"):
            part = os.read(self._fd, 65_536)
            if not part:
                raise RuntimeError("the grader closed the event channel before it sent the plan")
            received += part
        opening = json.loads(received)
        self._mac = hmac.new(bytes.fromhex(opening["key"]), digestmod=hashlib.sha256)
        plan = opening["plan"]
        self.roots = [(prefix, root) for prefix, root in plan["roots"]]
        self.select = plan["select"]
        self.rank = plan["rank"]
        self.gated = plan.get("gated", False)
        self.in_step = plan.get("in_step", False)

    def emit(self, event: str, **fields) -> None:
        """Writes one event; a forked child writes none, since its parent's outcome is what counts."""
        if os.getpid() != self._pid:
            return
        if sys._getframe(1).f_code not in _own_code() and event != "integrity":
            self.emit("integrity", what=f"{event} event by foreign code")
            return
        body = json.dumps(
            {"event": event, "seq": self._seq, "time": _now(), "mono": _monotonic(), **fields},
            allow_nan=False,
        ).encode()
        line = body
        if self._mac is not None:
            mac = self._mac.copy()
            mac.update(b"%d " % self._seq)
            mac.update(body)
            line = mac.hexdigest()[:32].encode() + b" " + body
        line += b"\n"
        self._seq += 1
        try:
            identity = os.fstat(self._fd)
            if (identity.st_dev, identity.st_ino) != self._identity:
                return  # the descriptor was closed and given to something else
            while line:
                line = line[os.write(self._fd, line) :]
            if self._sync:
                os.fsync(self._fd)
        except OSError:
            pass  # without a channel nothing is reported, and what is not reported has not passed

    def await_gate(self, item) -> None:
        """Where meters outside of this process measure: says that the call comes next, and waits until they are read."""
        if not self.gated or os.getpid() != self._pid:
            return
        self.emit("call_start", id=self.item_id(item))
        self._await_line()

    def await_turn(self) -> None:
        """Before a test, where ranks go in step: waits until the parent has every rank of the launch there."""
        if self.in_step and os.getpid() == self._pid:
            self._await_line()

    def _await_line(self) -> None:
        while True:
            try:
                answer = os.read(self._fd, 1)
            except OSError:
                return
            if answer in (b"\n", b""):
                return

    def test_id(self, path: str, rest: str) -> str:
        for prefix, root in self.roots:
            if path.startswith(root + os.sep):
                relative = path[len(root) + 1 :].replace(os.sep, "/")
                return prefix + relative + ("::" + rest if rest else "")
        return path + ("::" + rest if rest else "")

    def path_of(self, test_id: str) -> str:
        """The file of a test that is a program."""
        for prefix, root in self.roots:
            if test_id.startswith(prefix):
                return os.path.join(root, test_id[len(prefix) :])
        return test_id

    def item_id(self, item) -> str:
        return self.test_id(str(item.path), item.nodeid.partition("::")[2]) if self.roots else item.nodeid

    def _note_change(self, what: str) -> None:
        if what not in self._changed:
            self._changed.add(what)
            self.emit("integrity", what=what[:500])

    def record_tests(self, items, config) -> None:
        """Remembers the code of each test, and of every function of its file, as the file on disk has it."""
        compiled: dict[str, frozenset | None] = {}
        for item in items:
            function = _function_of(item)
            if function is None:
                continue
            path = str(item.path)
            if path not in compiled:
                compiled[path] = _codes_ahead.get(path) or _codes_on_disk(item.path, config)
                for found in _functions_of(vars(item.module)):
                    if found.__code__.co_filename == path:
                        self._codes[found] = found.__code__
            known = compiled[path]
            code = function.__code__
            foreign = code.co_filename != path and hasattr(function, "__wrapped__")
            own = function.__module__ == item.module.__name__
            if known is not None and own and not foreign and code not in known:
                self._note_change(f"code of {self.item_id(item)}")
            self._codes[function] = code
            self._tests[item.nodeid] = (function, code)

    def recorded(self, item) -> tuple | None:
        """The test's function and the code that it had when it was collected."""
        return self._tests.get(item.nodeid)

    def verify_tests(self, item) -> None:
        known = self._tests.get(item.nodeid)
        if known is not None and (_function_of(item) is not known[0] or "runtest" in vars(item)):
            self._note_change(f"function of {self.item_id(item)}")
        for function, code in self._codes.items():
            if function.__code__ is not code:
                self._note_change(f"code of {function.__module__}.{function.__qualname__}")

    def verify_meters(self) -> None:
        now = _meters()
        for name, value in self._meters.items():
            if now[name] != value:
                self._note_change(name)
        for name in foreign_meters():
            self._note_change(name)

    def verify_integrity(self) -> None:
        now = _fingerprint()
        for name, value in self._fingerprint.items():
            if now.get(name) != value:
                self._note_change(name)


def _own_code() -> frozenset:
    """Code objects of this module and of the one that runs programs: nothing else has a reason to write an event."""
    global _code
    if _code is None:
        scripts = sys.modules.get("infradev_script")
        functions = [*globals().values(), *vars(_Session).values(), *(vars(scripts).values() if scripts else ())]
        wrapped = [getattr(function, "__wrapped__", function) for function in functions]
        _code = frozenset(code for code in (getattr(function, "__code__", None) for function in wrapped) if code)
    return _code


_code: frozenset | None = None


def _function_of(item) -> types.FunctionType | None:
    found = getattr(item, "obj", None)
    found = getattr(found, "__func__", found)
    return found if isinstance(found, types.FunctionType) else None


def _functions_of(namespace) -> list[types.FunctionType]:
    """Functions of a module and of its classes."""
    found = []
    for value in list(namespace.values()):
        if isinstance(value, types.FunctionType):
            found.append(value)
        elif isinstance(value, type) and value.__module__ == namespace.get("__name__"):
            members = [getattr(member, "__func__", member) for member in vars(value).values()]
            found.extend(member for member in members if isinstance(member, types.FunctionType))
    return found


_codes_ahead: dict[str, frozenset] = {}


def compile_ahead(paths) -> None:
    """Compiles test files once for all ranks, in the launcher, which never loads anything of the candidate."""
    for path in paths:
        codes = _codes_on_disk(pathlib.Path(path), None)
        if codes is not None:
            _codes_ahead[path] = codes


def _codes_on_disk(path, config) -> frozenset | None:
    """Every code object of a test file, compiled again as pytest compiles it; None where pytest cannot say."""
    try:
        _, top = _rewrite_test(path, config)
    except Exception:
        return None
    found, open_codes = set(), [top]
    while open_codes:
        code = open_codes.pop()
        found.add(code)
        open_codes.extend(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return frozenset(found)


def _meters() -> dict[str, tuple[int, int]]:
    """Identities of what probes measure with; a test may replace one for its own time only."""
    meters = [
        ("tracemalloc", ("start", "stop", "reset_peak", "get_traced_memory", "take_snapshot", "clear_traces")),
        ("time", ("time", "monotonic", "perf_counter", "process_time")),
        ("resource", ("getrusage",)),
    ]
    result = {}
    for module_name, names in meters:
        module = sys.modules.get(module_name)
        for name in names:
            result[f"{module_name}.{name}"] = (id(module), id(getattr(module, name, None)))
    return result


def _fingerprint() -> dict[str, tuple[int, int]]:
    """Identities of the functions through which an outcome travels; a test run replaces none of them."""
    guarded = [
        (_pytest.runner, "runtestprotocol"),
        (_pytest.runner, "call_and_report"),
        (_pytest.runner, "pytest_runtest_makereport"),
        (_pytest.runner, "pytest_runtest_call"),
        (_pytest.runner.CallInfo, "from_call"),
        (_pytest.runner.CallInfo, "__init__"),
        (json, "dumps"),
        (_pytest.reports.TestReport, "from_item_and_call"),
        (_pytest.reports.TestReport, "__init__"),
        (_pytest.python.Function, "runtest"),
        (_pytest.python, "pytest_pyfunc_call"),
        (pluggy._hooks.HookCaller, "__call__"),
        (pluggy._callers, "_multicall"),
        (_Session, "emit"),
        (_Session, "verify_integrity"),
        (sys.modules[__name__], "pytest_runtest_makereport"),
        (sys.modules[__name__], "pytest_runtest_protocol"),
        (sys.modules[__name__], "pytest_collection_modifyitems"),
        (sys.modules[__name__], "pytest_pyfunc_call"),
        (_Session, "verify_tests"),
        (_Session, "verify_meters"),
        (_Session, "recorded"),
        (_Session, "await_gate"),
        (_Session, "await_turn"),
        (sys.modules[__name__], "pytest_runtest_call"),
        (sys.modules[__name__], "foreign_meters"),
        (sys.modules[__name__], "check_resource"),
        (sys.modules[__name__], "checks"),
    ]
    result = {}
    for owner, name in guarded:
        found = vars(owner).get(name)
        function = getattr(found, "__func__", found)
        owner_name = owner.__name__ if hasattr(owner, "__name__") else str(owner)
        result[f"{owner_name}.{name}"] = (id(function), id(getattr(function, "__code__", None)))
    return result


_session: _Session | None = None


def start(fd: int) -> int | None:
    """Opens the grader's channel on an inherited socket, before any code of the candidate is loaded.

    Returns the rank that the grader's plan gives this process, None for a launch without ranks.
    """
    global _session
    _session = _Session(fd, handshake=True)
    _emit_start()
    return _session.rank


def session() -> _Session:
    """The channel that ``start`` opened."""
    assert _session is not None
    return _session


def _emit_start() -> None:
    assert _session is not None
    _session.emit(
        "session_start",
        rank=_session.rank,
        pid=os.getpid(),
        python=".".join(map(str, sys.version_info[:3])),
        pytest=pytest.__version__,
    )


def _start_from_environment() -> None:
    global _session
    program = sys.modules.get("infradev_program")
    if program is not None:
        _session = program.relay  # a program has no channel itself; its rank passes on what its probes record
        return
    descriptor = os.environ.pop("INFRADEV_EVENT_FD", None)
    file = os.environ.pop("INFRADEV_EVENT_FILE", None)
    if descriptor is not None:
        _session = _Session(int(descriptor))
    elif file is not None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        _session = _Session(os.open(file, flags, 0o644), sync=True)
    if _session is not None:
        rank = os.environ.get("RANK")
        _session.rank = int(rank) if rank is not None and rank.isdigit() else None
        _emit_start()


def _collection_cause(error: BaseException | None) -> BaseException | None:
    """pytest wraps what a module raised on import; the cause is what the candidate's code did."""
    if error is not None and isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        return error.__cause__
    cause = getattr(error, "cause", None)  # ConftestImportFailure of pytest 8 and newer
    if isinstance(cause, BaseException):
        return cause
    info = getattr(error, "excinfo", None)  # and of pytest 7: (type, value, traceback)
    if isinstance(info, tuple) and len(info) == 3:
        return info[1]
    return error


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if _session is not None:
        _session.emit("collect_start", path="")
    outcome = yield
    if _session is not None and outcome.excinfo is not None:
        error = outcome.excinfo[1]
        path = getattr(error, "path", None)
        _session.emit(
            "collect_error",
            path=os.path.dirname(_session.test_id(str(path), "")) if path is not None else "",
            outcome="failed",
            exception=describe(_collection_cause(error)),
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart(collector):
    if _session is not None and isinstance(collector, pytest.File):
        _session.emit("collect_start", path=_session.test_id(str(collector.path), ""))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_make_collect_report(collector):
    outcome = yield
    if _session is None:
        return
    report = outcome.get_result()
    if report.outcome == "passed":
        return
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo is not None else None
    path = getattr(collector, "path", None)
    _session.emit(
        "collect_error",
        path=_session.test_id(str(path), "") if path is not None else "",
        outcome=report.outcome,
        exception=describe(_collection_cause(error)),
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if _session is None:
        return
    extra: list[str] = []
    if _session.select is not None:
        by_id = {_session.item_id(item): item for item in items}
        wanted = set(_session.select)
        extra = [test_id for test_id in by_id if test_id not in wanted]
        dropped = [item for test_id, item in by_id.items() if test_id not in wanted]
        items[:] = [by_id[test_id] for test_id in _session.select if test_id in by_id]
        _session.select = None
        if dropped:
            config.hook.pytest_deselected(items=dropped)
    _session.record_tests(items, config)
    infradev_children.watch({str(item.path) for item in items})
    _session.emit("collected", ids=[_session.item_id(item) for item in items], extra=[test_id[:400] for test_id in extra[:2_000]])


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    if _session is not None:
        _session.current = _session.item_id(item)
        _session.verify_integrity()
        _session.verify_tests(item)
        _session.verify_meters()
        infradev_children.begin()
        print(f"\n=== {_session.current}", flush=True)
        _session.emit("test_start", id=_session.current)
        _session.await_turn()
    yield
    if _session is not None:
        _session.current = None


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    if _session is not None:
        _reset_gpu_peak()
        _session.await_gate(item)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Calls a test by the code that was recorded, whatever the function carries by now."""
    known = _session.recorded(pyfuncitem) if _session is not None else None
    if known is None or known[1].co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR):
        return None
    function, code = known
    call = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    call.__kwdefaults__ = function.__kwdefaults__
    bound_to = getattr(pyfuncitem.obj, "__self__", None)
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    if bound_to is None:
        call(**arguments)
    else:
        call(bound_to, **arguments)
    return True


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if _session is None:
        return
    report = outcome.get_result()
    _session.verify_integrity()
    if call.when == "call":
        _session.verify_tests(item)
    error = call.excinfo.value if call.excinfo is not None else None
    verdict = report.outcome
    if error is not None and verdict == "passed":
        verdict = "failed"
        _session.emit("integrity", what=f"report of {_session.item_id(item)}")
    exception = describe(error) if verdict != "passed" else None
    unfinished = infradev_children.verdict() if call.when == "call" and verdict == "passed" else None
    if unfinished is not None:
        verdict, exception = unfinished[0], _child_exception(unfinished[1])
    _session.emit(
        "report",
        id=_session.item_id(item),
        phase=call.when,
        outcome=verdict,
        duration=call.duration,
        exception=exception,
        message=str(report.longrepr)[:MAX_MESSAGE] if error is exception is None and verdict == "failed" else None,
        xfail=hasattr(report, "wasxfail"),
        peak_rss_kb=_peak_rss_kb(),
        gpu_memory=_gpu_memory() if call.when == "call" else None,
    )


def _initialized_cuda():
    """torch.cuda where the candidate or a test has begun to use it; nothing is loaded or started for this."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _reset_gpu_peak() -> None:
    try:
        cuda = _initialized_cuda()
        if cuda is not None:
            cuda.reset_peak_memory_stats()
    except Exception:
        pass  # a device that fails here fails the test itself too, with its own message


def _gpu_memory() -> dict | None:
    """The allocator's own peaks on the current device since the call began, in bytes: information, never a verdict."""
    try:
        cuda = _initialized_cuda()
        if cuda is None:
            return None
        return {"allocated": int(cuda.max_memory_allocated()), "reserved": int(cuda.max_memory_reserved())}
    except Exception:
        return None


def _child_exception(message: str) -> dict:
    """Why a test that passed by itself did not: one of its child processes did not do its work."""
    names = [cls.__name__ for cls in ChildProcessError.__mro__ if cls is not object]
    return {"type": names[0], "mro": names, "message": message, "frames": [], "check": None}


def peak_child_rss_kb() -> int:
    """Peak of the largest child process that has ended."""
    peak = _rusage.getrusage(_rusage.RUSAGE_CHILDREN).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def _peak_rss_kb() -> int:
    peak = _rusage.getrusage(_rusage.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(exitstatus):
    if _session is not None:
        _session.verify_integrity()
        infradev_children.end()
        _session.emit("session_finish", exitstatus=int(exitstatus))


_start_from_environment()
