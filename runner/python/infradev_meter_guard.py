"""Whether what tests measure GPUs with is still torch's own code.

torch is loaded by tests, after the plugin: nothing can be remembered of it beforehand. So the code itself is looked at:
a meter of torch is compiled from a file of torch's folder, or is built into torch.
"""

from __future__ import annotations

import os
import sys
import types

_METERS = {
    "cuda": (
        ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats")
        + ("reset_peak_memory_stats", "reset_max_memory_allocated", "mem_get_info", "synchronize")
    ),
    "cuda.Event": ("record", "elapsed_time", "synchronize"),
}


def _is_of(function, home: str) -> bool:
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        return os.path.abspath(function.__code__.co_filename).startswith(home)
    owner = getattr(function, "__objclass__", None)
    module = getattr(owner, "__module__", None) if owner is not None else getattr(function, "__module__", None)
    return str(module or "").partition(".")[0] == "torch"


def foreign_meters() -> list[str]:
    """Names of torch's meters that are no code of torch's; empty where torch is not loaded."""
    torch = sys.modules.get("torch")
    home = getattr(torch, "__file__", None)
    if torch is None or not isinstance(home, str):
        return []
    home = os.path.dirname(os.path.abspath(home)) + os.sep
    found = []
    for path, names in _METERS.items():
        owner = torch
        for part in path.split("."):
            owner = getattr(owner, part, None)
        for name in names:
            function = getattr(owner, name, None)
            if function is not None and not _is_of(function, home):
                found.append(f"torch.{path}.{name}")
    return found
