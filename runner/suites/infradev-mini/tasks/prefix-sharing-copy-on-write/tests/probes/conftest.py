"""Fixtures of the probes."""

import pytest

from tinyfleet.comm import init_group
from tinyfleet.serve import Engine, PagedKVCache, Router, TinyModel


@pytest.fixture
def group(request):
    """The group of all ranks that run this probe."""
    opened = init_group(name=request.node.nodeid, timeout_s=5.0)
    yield opened
    opened.close()


@pytest.fixture
def make_engine():
    """Makes engines of one rank."""

    def make(num_blocks=16, width=4, max_running=8, block_size=4):
        model = TinyModel(width=width)
        return Engine(model, PagedKVCache(num_blocks, block_size, width), max_running)

    return make


@pytest.fixture
def make_router(group, make_engine):
    """Makes this rank's end of a router."""

    def make(max_inflight=16, **cache):
        return Router(group, make_engine(**cache), max_inflight)

    return make


@pytest.fixture
def reference():
    """Generates without paging, batching, sharing or ranks."""

    def generate(prompt, max_new_tokens, seed=0, weights_seed=0):
        model = TinyModel(width=4, weights_seed=weights_seed)
        rows, output = [], []
        for position, token in enumerate(prompt):
            rows.append(model.row(token, position, rows[-1] if rows else None))
        while True:
            output.append(model.next_token(rows.__getitem__, len(rows), seed))
            if len(output) == max_new_tokens:
                return output
            rows.append(model.row(output[-1], len(rows), rows[-1]))

    return generate
