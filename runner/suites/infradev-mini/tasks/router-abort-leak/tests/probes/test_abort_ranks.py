"""Aborts over four ranks."""

import gc
import random
import socket
import tracemalloc

import pytest
from infradev_report import check_resource, checks


@pytest.fixture
def sent_bytes(monkeypatch):
    """Counts what this rank hands to its sockets, whatever the group's own statistics say."""
    sent = [0]
    send = socket.socket.send

    def counted(sock, data, *flags):
        count = send(sock, data, *flags)
        sent[0] += count
        return count

    monkeypatch.setattr(socket.socket, "send", counted)
    return sent


def loads(router):
    """The load of every rank."""
    return [router.load(rank) for rank in range(router.group.world_size)]


def test_abort_before_a_move_starts_sends_no_rows(group, make_router, sent_bytes):
    router = make_router(width=16, num_blocks=32)
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"r{index}", list(range(index, index + 60)), 40)
    for _ in range(3):
        router.step()
    sent_bytes[0] = 0
    if group.rank == 0:
        assert router.migrate("r1", 3)
        assert router.abort("r1")
        assert loads(router) == [1, 1, 1, 1]
    router.step()
    router.step()
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=sent_bytes[0], limit=2000, unit="bytes", repeats=1)
    with checks("state-lifecycle"):
        assert router.engine.num_requests == (0 if group.rank == 1 else 1)
        if group.rank == 0:
            assert loads(router) == [1, 0, 1, 1]
    if group.rank == 0:
        for index in (0, 2, 3):
            router.abort(f"r{index}")
    router.run_until_idle()


def test_abort_is_told_to_the_rank_that_has_the_request(group, make_router, sent_bytes):
    router = make_router(num_blocks=64)
    name = "a-request-with-a-long-name-" + "x" * 200
    if group.rank == 0:
        for index in range(8 * group.world_size):
            router.submit(f"{name}{index}", [index + 1, 2, 3], 30)
    router.step()
    router.step()
    sent_bytes[0] = 0
    if group.rank == 0:
        for index in range(8 * group.world_size):
            if router.rank_of(f"{name}{index}") == 1:
                assert router.abort(f"{name}{index}")
        # The command and nothing else leaves rank 0 in this step.
        router.step()
        with checks("resource.traffic"):
            check_resource("bytes_sent", value=sent_bytes[0], limit=3400, unit="bytes", repeats=1)
    else:
        router.step()
    with checks("state-lifecycle"):
        assert router.engine.num_requests == (0 if group.rank == 1 else 8)


def test_id_is_free_again_at_once(group, make_router, reference):
    router = make_router()
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"r{index}", [index + 1, 7, 7, 9], 12)
    for _ in range(3):
        router.step()
    if group.rank == 0:
        assert router.migrate("r1", 2)
    router.step()
    if group.rank == 0:
        # r1 is on its way to rank 2, the others are running.
        for index in range(group.world_size):
            assert router.abort(f"r{index}")
            router.submit(f"r{index}", [index + 1, 8], 5)
    router.step()
    router.step()
    if group.rank == 0:
        assert router.migrate("r2", (router.rank_of("r2") + 1) % group.world_size)
    router.run_until_idle(max_steps=60)
    if group.rank == 0:
        for index in range(group.world_size):
            with checks("value"):
                assert router.take(f"r{index}") == reference([index + 1, 8], 5)
        with checks("state-lifecycle"):
            assert loads(router) == [0] * group.world_size
    with checks("state-lifecycle"):
        assert router.engine.cache.num_free == 16


def test_slot_of_a_preempted_request_is_free_after_the_step_of_its_abort(group, make_router):
    router = make_router(num_blocks=4)
    if group.rank == 0:
        for index in range(group.world_size + 1):
            router.submit(f"r{index}", [index + 1] * 7, 9)
    scheduler = router.engine.scheduler
    for _ in range(4):
        router.step()
    if group.rank == 0:
        assert [request.request_id for request in scheduler.preempted] == ["r4"]
        assert loads(router) == [2, 1, 1, 1]
        assert router.abort("r4")
    router.step()
    if group.rank == 0:
        with checks("state-lifecycle"):
            assert loads(router) == [1, 1, 1, 1]
            assert router.engine.num_requests == 1
    router.run_until_idle(max_steps=40)


def test_preempted_request_moves(group, make_router, reference):
    router = make_router(num_blocks=4)
    if group.rank == 0:
        for index in range(group.world_size + 1):
            router.submit(f"r{index}", [index + 1] * 7, 9 if index in (0, 4) else 3)
    for _ in range(4):
        router.step()
    if group.rank == 0:
        assert [request.request_id for request in router.engine.scheduler.preempted] == ["r4"]
        assert router.migrate("r4", 2)
    router.step()
    router.step()
    with checks("state-lifecycle"):
        if group.rank == 0:
            assert router.engine.num_requests == 1
            assert router.rank_of("r4") == 2
        if group.rank == 2:
            assert router.engine.num_requests >= 1
    router.run_until_idle(max_steps=40)
    if group.rank == 0:
        with checks("value"):
            assert router.take("r4") == reference([5] * 7, 9)
        with checks("state-lifecycle"):
            assert loads(router) == [0] * group.world_size


def test_aborts_leave_nothing_behind(group, make_router):
    router = make_router(num_blocks=8)

    def churn(rounds):
        for index in range(rounds):
            ids = [f"{index}-{slot}" for slot in range(2 * group.world_size)]
            if group.rank == 0:
                for request_id in ids:
                    router.submit(request_id, [1, 2, 3, 4, 5, 6, 7], 12)
            router.step()
            router.step()
            if group.rank == 0:
                for request_id in ids[::2]:
                    router.migrate(request_id, (router.rank_of(request_id) + 1) % group.world_size)
            router.step()
            if group.rank == 0:
                for request_id in ids:
                    assert router.abort(request_id)
            router.step()

    churn(10)
    gc.collect()
    tracemalloc.start()
    churn(5)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    churn(80)
    gc.collect()
    growth = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    with checks("resource.memory"):
        check_resource("memory_growth", value=max(growth, 0), limit=6000, unit="bytes", repeats=1)
    with checks("state-lifecycle"):
        assert (router.engine.num_requests, router.engine.cache.num_free) == (0, 8)
    router.run_until_idle(max_steps=3)


def test_storm_of_aborts_and_moves(group, make_router, reference):
    router = make_router(num_blocks=9, max_inflight=4)
    engine = router.engine
    chance = random.Random(20)
    alive = {}
    for index in range(160):
        if group.rank == 0:
            if index < 120:
                prompt = [chance.randrange(900) for _ in range(chance.randrange(3, 14))]
                alive[str(index)] = (prompt, chance.randrange(2, 12))
                router.submit(str(index), *alive[str(index)])
            for request_id in list(alive):
                draw = chance.random()
                if draw < 0.12:
                    router.migrate(request_id, chance.randrange(group.world_size))
                if (draw < 0.02 or draw > 0.97) and router.abort(request_id):
                    del alive[request_id]
        router.step()
        with checks("state-lifecycle"):
            assert engine.cache.allocator.num_used == sum(len(request.blocks) for request in engine.scheduler.running)
    router.run_until_idle(max_steps=400)
    with checks("state-lifecycle"):
        assert (engine.num_requests, engine.cache.num_free) == (0, 9)
    if group.rank == 0:
        assert len(alive) > 40
        with checks("value"):
            for request_id, (prompt, max_new_tokens) in alive.items():
                assert router.take(request_id) == reference(prompt, max_new_tokens)
        with checks("state-lifecycle"):
            assert loads(router) == [0] * group.world_size
