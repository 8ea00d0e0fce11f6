"""What an exception was, as plain data: type, base classes, message, frames, and the check that was active.

Some exceptions only carry another one: a group, an error of a child process that torch or the standard library raised
again in its parent. Of these the carried one is described, with the frames of the process in which it was raised, and
the message says what carried it. A cause (``raise ... from``) stays in the message: it explains, and does not replace.
Nothing is imported or unpickled for this; text of tracebacks is parsed as text.
"""

from __future__ import annotations

import builtins
import linecache
import os
import re
import sys

CHECK_ATTRIBUTE = "__infradev_check__"
MAX_MESSAGE = 8_000
_MAX_FRAMES = 60
_MAX_CODE = 400
_MAX_CAUSES = 3

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _is_machinery(file: str) -> bool:
    """Whether a file is this grader's, pytest's or the interpreter's own."""
    if file.startswith(("<frozen ", _OWN_FOLDER)):
        return True
    for name in ("_pytest", "pluggy"):
        module = sys.modules.get(name)
        if module is not None and file.startswith(os.path.dirname(module.__file__ or "") + os.sep):
            return True
    return False


# Errors that a rank gets because another one is gone; of a group they explain the least.
_SYMPTOMS = frozenset(
    "CommError PeerLost CollectiveTimeout DistError ConnectionError TimeoutError BrokenBarrierError CancelledError".split()
)


def type_name(cls: type) -> str:
    module = getattr(cls, "__module__", None)
    return cls.__qualname__ if module in (None, "builtins") else f"{module}.{cls.__qualname__}"


def is_skip(error: BaseException) -> bool:
    """Whether an exception is unittest's or pytest's way to skip a test."""
    return any(cls.__name__ in ("SkipTest", "Skipped") for cls in type(error).__mro__)


def _clip(text: str) -> str:
    if len(text) <= MAX_MESSAGE:
        return text
    return text[:MAX_MESSAGE] + f" ... [{len(text) - MAX_MESSAGE} characters cut]"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as second:
        return f"<message could not be made: {type(second).__name__}>"


def _frame(file: str, line: int, function: str, code: str | None) -> dict:
    return {"file": file[:4_000], "line": line, "function": function[:200], "code": (code or "")[:_MAX_CODE] or None}


def _frames(traceback) -> list[dict]:
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = code.co_filename
        if not _is_machinery(file):
            line = traceback.tb_lineno or 0
            name = getattr(code, "co_qualname", code.co_name)
            frames.append(_frame(file, line, name, linecache.getline(file, line).strip()))
        traceback = traceback.tb_next
    return frames[-_MAX_FRAMES:]


_FRAME_LINE = re.compile(r'^\s*File "(.+)", line (\d+), in (.+)$')
_ERROR_LINE = re.compile(r"^([A-Za-z_][\w.<>]*)(?:: ?(.*))?$", re.DOTALL)
_HEADER = "Traceback (most recent call last):"


def parse_traceback(text: str) -> dict | None:
    """The last traceback that a text holds, as ``describe`` gives it for an exception of this process; None if none."""
    _, found, rest = text.rpartition(_HEADER)
    if not found:
        return None
    frames: list[dict] = []
    lines = rest.strip("\n").split("\n")
    at = 0
    while at < len(lines):
        match = _FRAME_LINE.match(lines[at])
        if match:
            following = lines[at + 1] if at + 1 < len(lines) else ""
            code = following.strip() if following.startswith("    ") and not _FRAME_LINE.match(following) else None
            frames.append(_frame(match[1], int(match[2]), match[3].strip(), code))
        elif lines[at] and not lines[at][0].isspace() and frames:
            break
        at += 1
    match = _ERROR_LINE.match("\n".join(lines[at:]).strip().strip('"').strip())
    if match is None:
        return None
    name = match[1]
    return {
        "type": name[:300],
        "mro": _bases_of(name),
        "message": match[2] or "",
        "frames": [frame for frame in frames if not _is_machinery(frame["file"])][-_MAX_FRAMES:],
    }


def _bases_of(name: str) -> list[str]:
    """Base classes of an exception known by name only, where this process has loaded its module."""
    module, _, qualified = name.rpartition(".")
    owner = sys.modules.get(module) if module else builtins
    cls = getattr(owner, qualified, None)
    if not isinstance(cls, type) or not issubclass(cls, BaseException):
        return [name[:300]]
    return [type_name(base)[:300] for base in cls.__mro__ if base is not object]


def _names(error: BaseException) -> list[str]:
    return [cls.__name__ for cls in type(error).__mro__]


def _leaves(error: BaseException) -> list[BaseException]:
    inner = getattr(error, "exceptions", None)
    if "BaseExceptionGroup" not in _names(error) or not isinstance(inner, (tuple, list)):
        return [error]
    return [leaf for member in inner if isinstance(member, BaseException) for leaf in _leaves(member)][:1_000]


def _chosen(leaves: list[BaseException]) -> BaseException:
    """The member that explains the most: the first that is no lost connection, time-out or cancellation."""
    causes = [leaf for leaf in leaves if not _SYMPTOMS.intersection(_names(leaf))]
    return (causes or leaves)[0]


def _of_child(error: BaseException) -> tuple[dict, str] | None:
    """What a child process raised, where this error only carries it, and how it came here."""
    names = _names(error)
    if "ProcessRaisedException" in names:
        child = parse_traceback(_text(error))
        index = getattr(error, "error_index", None)
        return (child, f"raised in process {index} of torch.multiprocessing.spawn") if child else None
    if "ChildFailedError" in names and isinstance(getattr(error, "failures", None), dict):
        return _of_elastic(error.failures)
    cause = error.__cause__
    if cause is not None and type(cause).__name__ in ("RemoteTraceback", "_RemoteTraceback"):
        child = parse_traceback(_text(cause))
        if child is not None:
            child = {**child, "type": type_name(type(error))[:300], "mro": _mro(error), "message": _text(error)}
            return child, "raised in a process of a pool"
    return None


def _of_elastic(failures: dict) -> tuple[dict, str] | None:
    """The earliest of the failures that torch's elastic agent collected from its workers' error files."""
    for rank, failure in sorted(failures.items(), key=lambda entry: getattr(entry[1], "timestamp", 0) or 0):
        data = getattr(failure, "error_file_data", None)
        message = data.get("message") if isinstance(data, dict) else None
        extra = message.get("extraInfo") if isinstance(message, dict) else None
        stack = extra.get("py_callstack") if isinstance(extra, dict) else None
        child = parse_traceback(stack) if isinstance(stack, str) else None
        if child is not None:
            return child, f"raised on rank {rank} below torch's elastic agent"
    return None


def _mro(error: BaseException) -> list[str]:
    return [type_name(cls)[:300] for cls in type(error).__mro__ if cls is not object]


def _causes(error: BaseException) -> list[str]:
    lines = []
    cause = error.__cause__
    while cause is not None and len(lines) < _MAX_CAUSES:
        if type(cause).__name__ not in ("RemoteTraceback", "_RemoteTraceback"):
            frames = _frames(cause.__traceback__)
            place = f" ({os.path.basename(frames[-1]['file'])}:{frames[-1]['line']})" if frames else ""
            first = _text(cause).split("\n", 1)[0]
            lines.append(f"caused by {type_name(type(cause))[:300]}: {first[:400]}{place}")
        cause = cause.__cause__
    return lines


def describe(error: BaseException | None) -> dict | None:
    """An exception as an event carries it: ``{"type", "mro", "message", "frames", "check"}``."""
    if error is None:
        return None
    try:
        return _described(error)
    except Exception as second:  # an exception's own class may raise from anything that is asked of it
        message = f"<could not be described: {type(second).__name__}>"
        names = _mro(error)[:200]
        traceback = BaseException.__dict__["__traceback__"].__get__(error)
        return {"type": names[0], "mro": names, "message": message, "frames": _frames(traceback), "check": None}


def _described(error: BaseException) -> dict:
    leaves = _leaves(error)
    leaf = _chosen(leaves) if leaves else error
    notes = _causes(leaf)
    if leaf is not error:
        notes.append(f"one of {len(leaves)} exceptions of {type_name(type(error))[:300]}: {_text(error)[:400]}")
    carried = _of_child(leaf)
    if carried is not None:
        child, how = carried
        notes.append(how)
    else:
        frames = _frames(leaf.__traceback__) or _frames(error.__traceback__)
        child = {"type": type_name(type(leaf))[:300], "mro": _mro(leaf), "message": _text(leaf), "frames": frames}
    message = "\n\n".join([_clip(child["message"]), *notes])
    check = getattr(leaf, CHECK_ATTRIBUTE, None) or getattr(error, CHECK_ATTRIBUTE, None)
    known = check if isinstance(check, str) else None  # an exception may answer to any name
    return {**child, "mro": child["mro"][:200], "message": message, "check": known}
