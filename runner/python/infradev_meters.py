"""Samples GPUs through NVML, outside of every graded process.

Started by the grader as ``infradev_meters.py PERIOD_MS UUID...``; needs the standard library and the driver's
libnvidia-ml.so.1. Writes lines to standard output, fields separated by one space, ``-`` where the driver does not say:

    ready <driver version>
    s <time> <gpu> <used> <processes> <tx> <rx> <ecc>
    lost <time> <gpu> <NVML code>
    absent <reason>

``time`` is CLOCK_MONOTONIC in microseconds, ``gpu`` the position in the arguments, ``used`` the bytes of GPU memory in
use by everybody, ``processes`` how many compute processes hold the GPU (renewed once a second, like ``ecc``),
``tx`` and ``rx`` the KiB of payload that all NVLinks of the GPU have sent and received since the driver counts (read once
a second and in a sample that was asked for, ``-`` in others: reading them takes a hundred times as long as the rest),
``ecc`` uncorrected memory errors since the driver was loaded. Each byte on standard input takes a sample at once; its
end ends the program, as does ``absent`` (no library, no driver, no such GPU).
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

_LIBRARY = "libnvidia-ml.so.1"
_LOST = frozenset({6, 15, 16})  # NOT_FOUND, GPU_IS_LOST, RESET_REQUIRED
_UNCORRECTED, _VOLATILE = 1, 0
_NVLINK_DATA_TX, _NVLINK_DATA_RX = 138, 139
_ALL_LINKS = 0xFFFFFFFF
_MAX_LINKS = 18
_INSUFFICIENT_SIZE = 7
_MAX_PROCESSES = 256
_SLOW_NS = 1_000_000_000


class _Memory(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint),
        ("total", ctypes.c_ulonglong),
        ("reserved", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class _Field(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("type", ctypes.c_uint),
        ("result", ctypes.c_uint),
        ("value", ctypes.c_ulonglong),
    ]


_MEMORY_VERSION = ctypes.sizeof(_Memory) | 2 << 24
# What a value of each nvmlValueType_t leaves of the union's eight bytes: double, unsigned int, unsigned long, ...
_WIDTH = {1: 0xFFFFFFFF, 2: 0xFFFFFFFFFFFFFFFF, 3: 0xFFFFFFFFFFFFFFFF, 4: 0xFFFFFFFFFFFFFFFF, 5: 0xFFFFFFFF}


class _Absent(Exception):
    pass


class _Gpu:
    """One GPU's handle and the structures that each sample is read into."""

    def __init__(self, nvml: ctypes.CDLL, uuid: str) -> None:
        self._nvml = nvml
        self._handle = ctypes.c_void_p()
        code = nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self._handle))
        if code != 0:
            raise _Absent(f"NVML code {code} for the GPU {uuid}")
        self._memory = _Memory()
        self._processes = (_Process * _MAX_PROCESSES)()
        self._count = ctypes.c_uint()
        self._ecc = ctypes.c_ulonglong()
        self._fields = (_Field * (2 * _MAX_LINKS))()
        self._scopes: tuple[int, ...] | None = None
        self._slow_at = 0
        self._slow = "- -"
        self.lost = False

    def sample(self, now_ns: int, asked: bool) -> str:
        """The fields after the GPU's position; raises _Absent with the code where the GPU is gone."""
        self._memory.version = _MEMORY_VERSION
        self._check(self._nvml.nvmlDeviceGetMemoryInfo_v2(self._handle, ctypes.byref(self._memory)))
        links = self._links() if asked or now_ns - self._slow_at >= _SLOW_NS else "- -"
        if now_ns - self._slow_at >= _SLOW_NS:
            self._slow_at = now_ns
            self._slow = f"{self._holders()} {self._uncorrected()}"
        processes, ecc = self._slow.split(" ")
        return f"{self._memory.used} {processes} {links} {ecc}"

    def _check(self, code: int) -> None:
        if code != 0:
            raise _Absent(str(code))

    def _holders(self) -> str:
        self._count.value = _MAX_PROCESSES
        code = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(
            self._handle, ctypes.byref(self._count), self._processes
        )
        if code in _LOST:
            raise _Absent(str(code))
        return str(self._count.value) if code in (0, _INSUFFICIENT_SIZE) else "-"

    def _uncorrected(self) -> str:
        code = self._nvml.nvmlDeviceGetTotalEccErrors(self._handle, _UNCORRECTED, _VOLATILE, ctypes.byref(self._ecc))
        if code in _LOST:
            raise _Absent(str(code))
        return str(self._ecc.value) if code == 0 else "-"

    def _links(self) -> str:
        """KiB that the links have sent and received: the driver's own sum where it has one, else the sum of the links."""
        if self._scopes is None:
            self._scopes = self._find_scopes()
        if not self._scopes or not self._read_links(self._scopes):
            return "- -"
        return " ".join(str(sum(self._value(field) for field in self._fields[at : 2 * len(self._scopes) : 2])) for at in (0, 1))

    def _find_scopes(self) -> tuple[int, ...]:
        if self._read_links((_ALL_LINKS,)):
            return (_ALL_LINKS,)
        return tuple(link for link in range(_MAX_LINKS) if self._read_links((link,)))

    def _read_links(self, scopes: tuple[int, ...]) -> bool:
        """Reads both counters of each scope, side by side; False where the driver does not tell one of them."""
        fields = self._fields
        for at, scope in enumerate(scopes):
            for offset, number in ((0, _NVLINK_DATA_TX), (1, _NVLINK_DATA_RX)):
                field = fields[2 * at + offset]
                field.id, field.scope, field.value = number, scope, 0
        count = 2 * len(scopes)
        code = self._nvml.nvmlDeviceGetFieldValues(self._handle, count, fields)
        if code in _LOST:
            raise _Absent(str(code))
        return code == 0 and all(fields[at].result == 0 and fields[at].type in _WIDTH for at in range(count))

    @staticmethod
    def _value(field: _Field) -> int:
        return field.value & _WIDTH[field.type]


def _open(uuids: list[str]) -> tuple[list[_Gpu], str]:
    try:
        nvml = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise _Absent(f"{_LIBRARY} cannot be loaded: {error}") from error
    code = nvml.nvmlInit_v2()
    if code != 0:
        raise _Absent(f"nvmlInit_v2 gave code {code}")
    version = ctypes.create_string_buffer(96)
    known = nvml.nvmlSystemGetDriverVersion(version, len(version)) == 0
    return [_Gpu(nvml, uuid) for uuid in uuids], version.value.decode() if known else "-"


def _say(lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    while data:
        data = data[os.write(1, data) :]


def _take(gpus: list[_Gpu], asked: bool) -> list[str]:
    lines = []
    for position, gpu in enumerate(gpus):
        if gpu.lost:
            continue
        now = time.monotonic_ns()
        try:
            lines.append(f"s {now // 1000} {position} {gpu.sample(now, asked)}")
        except _Absent as reason:
            gpu.lost = True
            lines.append(f"lost {now // 1000} {position} {reason}")
    return lines


def _main(period_ms: int, uuids: list[str]) -> int:
    try:
        gpus, version = _open(uuids)
    except (_Absent, AttributeError) as error:
        _say([f"absent {error}".replace("\n", " ")])
        return 0
    _say([f"ready {version}"])
    period = period_ms / 1000
    due = time.monotonic()
    asked = True
    while True:
        _say(_take(gpus, asked))
        due = max(due + period, time.monotonic())
        readable, _, _ = select.select([0], [], [], max(0.0, due - time.monotonic()))
        asked = bool(readable)
        if asked:
            if not os.read(0, 4096):
                return 0
            due = time.monotonic()


if __name__ == "__main__":
    try:
        sys.exit(_main(int(sys.argv[1]), sys.argv[2:]))
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
