"""What the frameworks of a launch leave beside a failure: where they write it, and how it is handed over.

Each rank has a private folder below TMPDIR. Torch's error file, NCCL's log and the flight recorder's dump are told to
go there. The launcher sends the files, bounded, over its control channel; it never interprets them: a dump is a pickle,
and reading one as Python does would run what it says.
"""

from __future__ import annotations

import base64
import os
import shutil
import stat
import tempfile
import time

_PART_BYTES = 192 * 1024
_LIMITS = {"error.json": 64 * 1024, "nccl.log": 64 * 1024, "flight-recorder": 1536 * 1024}
_TOTAL_BYTES = 8 * 1024 * 1024
# What NCCL's Inspector logged, all files of a rank together; a log that is longer is not sent at all.
_PROFILE_BYTES = 1536 * 1024
# Collectives that the recorder keeps: enough to see where ranks part, small enough to be sent.
_RECORDED = "256"
# What torch's watchdog leaves for its dump after a collective's time-out; it ends the rank after four times that, a
# minute by default, in which a rank that comes late makes a test pass whose time was over.
_RECORDING_WITHIN_MS = "1000"
_DUMP_WITHIN_S = 5.0
_STACKS_WITHIN_S = 0.25


class Evidence:
    def __init__(self, nproc: int) -> None:
        self._nproc = nproc
        self._folder = tempfile.mkdtemp(prefix="infradev-evidence-")
        self._asked: list[int] = []
        self._deadline = 0.0
        self._sizes: dict[int, int] = {}
        for rank in range(nproc):
            os.mkdir(self._of(rank), 0o700)

    def _of(self, rank: int) -> str:
        return os.path.join(self._folder, f"rank-{rank}")

    def variables(self, rank: int) -> dict[str, str]:
        """Environment that sends a rank's evidence to its folder."""
        folder = self._of(rank)
        return {
            "TORCHELASTIC_ERROR_FILE": f"{folder}/error.json",
            "NCCL_DEBUG": "WARN",
            "NCCL_DEBUG_FILE": f"{folder}/nccl.log",
            "TORCH_NCCL_TRACE_BUFFER_SIZE": _RECORDED,
            "TORCH_FR_BUFFER_SIZE": _RECORDED,
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": _RECORDING_WITHIN_MS,
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{folder}/flight-recorder.",
            "TORCH_FR_DUMP_TEMP_FILE": f"{folder}/flight-recorder.",
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"{folder}/dump.",
            "NCCL_INSPECTOR_DUMP_DIR": f"{folder}/inspector",
        }

    def ask(self, ranks) -> None:
        """Asks the flight recorders of these ranks for a dump, where they listen."""
        self._asked = [rank for rank in ranks if self._write_pipe(rank)]
        self._sizes = {}
        self._deadline = time.monotonic() + (_DUMP_WITHIN_S if self._asked else _STACKS_WITHIN_S)

    def _write_pipe(self, rank: int) -> bool:
        try:
            pipe = os.open(f"{self._of(rank)}/dump.{rank}.pipe", os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            return stat.S_ISFIFO(os.fstat(pipe).st_mode) and os.write(pipe, b"1\n") > 0
        except OSError:
            return False
        finally:
            os.close(pipe)

    def is_ready(self) -> bool:
        """Whether what was asked for is there, or has been waited for long enough."""
        if time.monotonic() >= self._deadline:
            return True
        if not self._asked:
            return False
        sizes = {rank: self._size(rank) for rank in self._asked}
        complete = all(size > 0 and self._sizes.get(rank) == size for rank, size in sizes.items())
        self._sizes = sizes
        return complete

    def _size(self, rank: int) -> int:
        try:
            return os.lstat(f"{self._of(rank)}/flight-recorder.{rank}").st_size
        except OSError:
            return 0

    def parts(self):
        """Every file that was left, in parts that each fit on one line: fields of ``evidence`` events."""
        left = _TOTAL_BYTES
        for rank in range(self._nproc):
            for name, limit in _LIMITS.items():
                file = f"flight-recorder.{rank}" if name == "flight-recorder" else name
                found = _read(os.path.join(self._of(rank), file), limit)
                if found is None:
                    continue
                content, size = found
                if len(content) > left or (name == "flight-recorder" and size > limit):
                    content = b""
                left -= len(content)
                yield from _cut(rank, name, content, size)
        for rank in range(self._nproc):
            found = _read_folder(os.path.join(self._of(rank), "inspector"), min(_PROFILE_BYTES, left))
            if found is not None:
                left -= len(found[0])
                yield from _cut(rank, "inspector", *found)

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _cut(rank: int, name: str, content: bytes, size: int):
    chunks = [content[at : at + _PART_BYTES] for at in range(0, len(content), _PART_BYTES)] or [b""]
    for part, chunk in enumerate(chunks):
        yield {"rank": rank, "name": name, "part": part, "bytes": size, "data": base64.b64encode(chunk).decode()}


def _read_folder(folder: str, limit: int) -> tuple[bytes, int] | None:
    """The content of a folder's files together, nothing where that is over ``limit``, and its size."""
    try:
        names = sorted(os.listdir(folder))[:64]
    except OSError:
        return None
    found = [_read(os.path.join(folder, name), limit + 1) for name in names]
    size = sum(bytes_of for _, bytes_of in filter(None, found))
    if size == 0:
        return None
    return (b"" if size > limit else b"".join(content for content, _ in filter(None, found)), size)


def _read(path: str, limit: int) -> tuple[bytes, int] | None:
    """A file's last ``limit`` bytes and its size; links, pipes and devices are not followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
            return None
        if not path.endswith(".json"):
            file.seek(max(0, found.st_size - limit))
        return file.read(limit), found.st_size
