"""The process of one Python test program: runs it, and says over its socket how it ended (see infradev_script.py)."""

from __future__ import annotations

import faulthandler
import json
import os
import runpy
import signal
import socket
import sys
import unittest

from infradev_exceptions import describe, is_skip

def after_standard_library() -> int:
    """Where folders of the candidate belong on sys.path: behind Python's own modules, before installed packages."""
    standard = os.path.dirname(os.path.abspath(os.__file__))
    own = [at for at, entry in enumerate(sys.path) if entry == standard or os.path.basename(entry) == "lib-dynload"]
    return max(own, default=-1) + 1


def _ended_itself(error: SystemExit, program: str) -> bool:
    """Whether a program's own file raised this exit, libraries between (unittest.main) allowed."""
    frames = [frame for frame in describe(error)["frames"] if not _is_library(frame["file"])]
    return bool(frames) and frames[-1]["file"] == program


def _is_library(file: str) -> bool:
    return file.startswith("<") or any(part in file for part in ("/site-packages/", "/dist-packages/", "/lib/python3."))


relay: _Relay | None = None


class _Relay:
    """Takes what the program's probes record and sends it to the rank."""

    current = None

    def __init__(self, say) -> None:
        self._say = say

    def emit(self, event: str, **fields) -> None:
        fields.pop("id", None)
        if event == "resource":
            self._say(resource=fields)


def _watch_skips() -> list[unittest.SkipTest]:
    """Skips that unittest notes from now on: it ends with code 0 though it ran nothing."""
    noted: list[unittest.SkipTest] = []
    original = unittest.TestResult.addSkip

    def add(result, test, reason) -> None:
        noted.append(unittest.SkipTest(f"{test}: {reason}"))
        original(result, test, reason)

    unittest.TestResult.addSkip = add
    return noted


def _main() -> int:
    """The program's own process: takes its order from the rank, runs the program, says how that ended."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    order = json.loads(channel.makefile("rb").readline())
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True, chain=False)
    nonce, program, me = order.pop("nonce"), order["program"], os.getpid()

    def say(**fields) -> None:
        if os.getpid() == me:
            channel.sendall(json.dumps({"nonce": nonce, **fields}).encode() + b"\n")

    sys.modules["infradev_program"] = sys.modules["__main__"]
    global relay
    relay = _Relay(say)
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != own]
    at = after_standard_library()
    sys.path[at:at] = [os.path.dirname(program), *order["path"], own]
    os.environ["PYTHONPATH"] = order["pythonpath"]
    sys.argv = [program]
    skips = _watch_skips()
    try:
        runpy.run_path(program, run_name="__main__")
        say(end="skipped" if skips else "finished", exception=describe(skips[0]) if skips else None)
    except SystemExit as error:
        code = error.code if error.code is not None else 0
        if os.getpid() == me and code == 0 and _ended_itself(error, program):
            say(end="skipped" if skips else "finished", exception=describe(skips[0]) if skips else None)
        elif os.getpid() == me:
            say(end="exit" if code != 0 else "raised", exception=describe(error))
        raise
    except BaseException as error:
        say(end="skipped" if is_skip(error) else "raised", exception=describe(error))
        raise
    return 0


if __name__ == "__main__":
    sys.exit(_main())
