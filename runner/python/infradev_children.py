"""Watches the processes that a test starts through multiprocessing (torch.multiprocessing too).

A test that runs its body in child processes passes where nobody looks at how they ended: a child that skips, that ends
with code 0 in the middle, or that never came to its function, looks like one that did its work. Each child whose
function stands in a test file leaves marks in a private folder: begun, returned, skipped. ``verdict`` judges them when
the test's call is over. A child that raised, was killed or still runs is left to the test's own judgement.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing.process
import os
import shutil
import tempfile

from infradev_exceptions import is_skip

_start = multiprocessing.process.BaseProcess.start
_files: frozenset[str] = frozenset()
_folder: str | None = None
_numbers = itertools.count()
_children: list[tuple[multiprocessing.process.BaseProcess, str, str]] = []


class Watched:
    """Stands around a child's target; it is pickled with it where the child is spawned."""

    def __init__(self, target, mark: str) -> None:
        self.target = target
        self.mark = mark

    def __call__(self, *args, **kwargs):
        _leave(self.mark, "begun")
        try:
            result = self.target(*args, **kwargs)
        except BaseException as error:
            if is_skip(error):
                _leave(self.mark, "skipped", str(error)[:400])
            raise
        _leave(self.mark, "returned")
        return result


def _leave(mark: str, what: str, text: str = "") -> None:
    try:
        with open(f"{mark}.{what}", "w") as file:
            file.write(text)
    except OSError:
        pass  # without a mark the child counts as one that did not come so far


def _function(process: multiprocessing.process.BaseProcess):
    """The function that a child runs, below what spawn, partial and methods put around it."""
    function = process._target
    if getattr(function, "__module__", "") == "torch.multiprocessing.spawn" and process._args:
        function = process._args[0]
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _start_watched(self, *args, **kwargs):
    global _folder
    function = _function(self)
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename in _files and not isinstance(self._target, Watched):
        if _folder is None:
            _folder = tempfile.mkdtemp(prefix="infradev-children-")
        mark = os.path.join(_folder, f"{os.getpid()}-{next(_numbers)}")
        self._target = Watched(self._target, mark)
        _children.append((self, function.__qualname__, mark))
    return _start(self, *args, **kwargs)


def watch(files) -> None:
    """Watches children whose function stands in one of these files, from now on."""
    global _files
    _files = frozenset(files)
    multiprocessing.process.BaseProcess.start = _start_watched


def begin() -> None:
    """Forgets the children of earlier tests."""
    _children.clear()


def verdict() -> tuple[str, str] | None:
    """``("skipped" | "failed", why)`` where a child of the test did not do its work, else None."""
    for process, name, mark in _children:
        try:
            code = process.exitcode
        except ValueError:  # the test closed it, which it can only do once the process has ended
            code = None
            closed = True
        else:
            closed = False
        if os.path.exists(f"{mark}.skipped"):
            with open(f"{mark}.skipped") as file:
                return "skipped", f"a child process of the test skipped {name}: {file.read()}"
        if os.path.exists(f"{mark}.returned") or (code is None and not closed):
            continue
        if not os.path.exists(f"{mark}.begun") and (closed or code >= 0):
            return "failed", f"a child process of the test ended before it began {name}"
        if code == 0:
            return "failed", f"a child process of the test ended with code 0 before {name} returned"
    return None


def end() -> None:
    """Removes the marks."""
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
