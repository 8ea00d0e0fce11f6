"""Serving: paged key-value cache, scheduler, engine of one rank, and a router over ranks."""

from .blocks import BlockAllocator, OutOfBlocks
from .engine import Engine, EngineStats, StepOutput
from .kv_cache import PagedKVCache
from .model import TinyModel
from .request import Request
from .router import Router
from .scheduler import Scheduler

__all__ = [
    "BlockAllocator",
    "Engine",
    "EngineStats",
    "OutOfBlocks",
    "PagedKVCache",
    "Request",
    "Router",
    "Scheduler",
    "StepOutput",
    "TinyModel",
]
