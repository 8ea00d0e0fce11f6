"""Runs test programs on one rank: `tests/x.py` or `tests/x.sh`, each in a process of its own (infradev_program.py).

The rank itself only watches. It holds the grader's channel and its key; the program never shares its memory, and cannot
read it (it is not dumpable). A program is over with success where all of this holds:

* it reached its own end: a Python program by running off its last line or by ``sys.exit(0)`` in its own file, a shell
  program by running off its last line under ``set -e``;
* it said so with a nonce that it was given before any code of the candidate ran, over a socket of its own;
* its process then ended with code 0.

So ``os._exit(0)`` in the middle, a ``SystemExit(0)`` that other code raised, and an exit handler that changes the code
are no success: where nothing was said and the code is 0 the rank ends in the same way as the program did, and counts as
crashed. A skip is a skip. What this cannot establish: that the commands or child processes which a program started did
their work (a program asserts that itself), and that Python code which walks the frames of its own interpreter did not
take the nonce; the programs of the guard, which must fail, are there for the second.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time

import infradev_report

_MAX_MESSAGE_BYTES = 512 * 1024
_SHELL = 'IFS= read -r infradev_nonce <&8; exec 8<&-; . "$1"; printf "%s\\n" "$infradev_nonce" >&9'


class _Program:
    """What the reporter needs to know of a test that is a file."""

    nodeid = ""

    def __init__(self, path: str) -> None:
        self.path = path


def run(search_path: list[str]) -> int:
    """Runs every program of the plan and reports each; this process is a rank whose channel is open."""
    session = infradev_report.session()
    programs = [(test_id, session.path_of(test_id)) for test_id in session.select or []]
    programs = [(test_id, path) for test_id, path in programs if os.path.isfile(path)]
    session.emit("collected", ids=[test_id for test_id, _ in programs], extra=[])
    for test_id, path in programs:
        print(f"\n=== {test_id}", flush=True)
        session.current = test_id
        session.emit("test_start", id=test_id)
        _report(session, test_id, "setup", "passed", 0.0)
        session.await_gate(_Program(path))
        started = time.monotonic()
        _judge(session, test_id, _run_shell(path) if path.endswith(".sh") else _run_python(path, search_path), started)
        session.current = None
    session.emit("session_finish", exitstatus=0)
    return 0


def _report(session, test_id, phase, outcome, duration, *, exception=None, message=None) -> None:
    session.emit(
        "report",
        id=test_id,
        phase=phase,
        outcome=outcome,
        duration=duration,
        exception=exception,
        message=message,
        xfail=False,
        peak_rss_kb=infradev_report.peak_child_rss_kb(),
    )


def _judge(session, test_id: str, ended: dict, started: float) -> None:
    code, said = ended["code"], ended["said"]
    duration = time.monotonic() - started
    for entry in ended["resources"]:
        session.emit("resource", id=test_id, **entry)
    outcome, exception, message = "failed", None, None
    if said is None and code <= 0:
        _end_alike(code)
    elif said is None:
        message = f"the program ended with code {code}"
    elif said["end"] == "finished":
        outcome = "passed"
    elif said["end"] == "skipped":
        outcome, exception = "skipped", said["exception"]
    elif said["end"] == "exit":
        message = f"the program ended with code {code}"
    else:
        exception = said["exception"]
    _report(session, test_id, "call", outcome, duration, exception=exception, message=message)
    if outcome == "passed" and code != 0:
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        late = f"the program had reached its end, and its process then ended {how}"
        _report(session, test_id, "teardown", "failed", 0.0, message=late)
    else:
        _report(session, test_id, "teardown", "passed", 0.0)


def _end_alike(code: int) -> None:
    """Ends this rank as its program ended, so that the parent sees what happened: a crash, its signal or its code."""
    sys.stdout.flush()
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    os._exit(0)


def _run_python(path: str, search_path: list[str]) -> dict:
    ours, theirs = socket.socketpair()
    nonce = secrets.token_hex(16)
    own = os.path.dirname(os.path.abspath(__file__))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.Popen(
        [sys.executable, "-B", "-s", os.path.join(own, "infradev_program.py"), str(theirs.fileno())],
        env=environment,
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
    )
    theirs.close()
    order = {"nonce": nonce, "program": path, "path": search_path, "pythonpath": os.pathsep.join([*search_path, own])}
    try:
        ours.sendall(json.dumps(order).encode() + b"\n")
    except OSError:
        pass  # it ended at once: its code says how
    received = _wait(process, ours)
    said, resources = None, []
    for line in received.split(b"\n")[:10_000]:
        message = _parsed(line)
        if message is None or not hmac.compare_digest(str(message.get("nonce")), nonce):
            continue
        if message.get("end") in ("finished", "skipped", "exit", "raised"):
            said = said or {"end": message["end"], "exception": _clean(message.get("exception"))}
        elif isinstance(message.get("resource"), dict):
            resources.append(message["resource"])
    return {"code": process.returncode, "said": said, "resources": resources}


def _run_shell(path: str) -> dict:
    nonce = secrets.token_hex(16)
    ours, theirs = socket.socketpair()
    given, give = os.pipe()
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20) for descriptor in (given, theirs.fileno())]
    with open(path, "rb") as program:
        shell = "/bin/bash" if b"bash" in program.readline(200) else "/bin/sh"

    def place() -> None:
        os.dup2(high[0], 8)
        os.dup2(high[1], 9)

    # A rank's other descriptors close on exec; pass_fds would want 8 and 9 to be open here already.
    process = subprocess.Popen(
        [shell, "-e", "-c", _SHELL, shell, path], stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=place
    )
    os.write(give, nonce.encode() + b"\n")
    for descriptor in (given, give, *high):
        os.close(descriptor)
    theirs.close()
    received = _wait(process, ours)
    finished = any(hmac.compare_digest(line, nonce.encode()) for line in received.split(b"\n"))
    return {"code": process.returncode, "said": {"end": "finished"} if finished else None, "resources": []}


def _wait(process: subprocess.Popen, channel: socket.socket) -> bytes:
    """What a program said until it ended. Children that it left may hold the channel open; they are not waited for."""
    signal.signal(signal.SIGUSR1, lambda *_: _dump(process))
    channel.setblocking(False)
    received = b""
    try:
        while True:
            ended = process.poll() is not None
            if select.select([channel], [], [], 0 if ended else 0.02)[0]:
                try:
                    part = channel.recv(65_536)
                except OSError:
                    part = b""
                if part and len(received) < _MAX_MESSAGE_BYTES:
                    received += part
                    continue
                if not part and not ended:
                    process.wait()
            if ended:
                return received
    finally:
        channel.close()


def _dump(process: subprocess.Popen) -> None:
    if process.args[0] == sys.executable and process.poll() is None:
        process.send_signal(signal.SIGUSR1)


def _parsed(line: bytes) -> dict | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _clean(exception) -> dict | None:
    """An exception as a program told it, held to the form that events have."""
    if not isinstance(exception, dict):
        return None
    frames = exception.get("frames")
    return {
        "type": str(exception.get("type"))[:300],
        "mro": [str(name)[:300] for name in exception.get("mro") or [] if isinstance(name, str)][:200],
        "message": str(exception.get("message"))[:12_000],
        "frames": [_clean_frame(frame) for frame in frames if isinstance(frame, dict)][-60:]
        if isinstance(frames, list)
        else [],
        "check": exception.get("check") if exception.get("check") in infradev_report.PROPERTIES else None,
    }


def _clean_frame(frame: dict) -> dict:
    line, code = frame.get("line"), frame.get("code")
    return {
        "file": str(frame.get("file"))[:4_000],
        "line": line if isinstance(line, int) and line >= 0 else 0,
        "function": str(frame.get("function"))[:400],
        "code": code[:400] if isinstance(code, str) else None,
    }
