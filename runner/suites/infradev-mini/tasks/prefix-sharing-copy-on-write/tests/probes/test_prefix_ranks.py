"""Shared blocks and prefixes over four ranks."""

import random
import socket

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


def test_move_sends_only_the_rows_that_are_missing(group, make_router, sent_bytes):
    router = make_router(num_blocks=64, width=16)
    prefix = list(range(300, 360))
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"r{index}", prefix + [index], 20 if index == 0 else 2)
    for _ in range(4):
        router.step()
    if group.rank == 0:
        assert router.status("r3") == "finished" and router.status("r0") == "running"
        assert router.migrate("r0", 3)
    sent_bytes[0] = 0
    router.step()
    router.step()
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=sent_bytes[0], limit=2600, unit="bytes", repeats=1)
    computed = router.engine.stats.tokens_computed
    router.run_until_idle()
    with checks("resource.speed"):
        check_resource(
            "rows_computed", value=router.engine.stats.tokens_computed - computed, limit=20, unit="rows", repeats=1
        )
    with checks("state-lifecycle"):
        assert router.engine.cache.allocator.num_used == 0


def test_prefix_of_a_request_on_its_way_is_not_evicted(group, make_router, reference):
    router = make_router(num_blocks=10)
    prompt = list(range(400, 415))
    big = list(range(500, 532))
    # When it moves, the request has computed the rows of its prompt and of its first token: four full blocks, and the
    # request that ends on rank 3 leaves just these.
    requests = {"moved": (prompt, 8), "q1": ([1, 1], 9), "q2": ([2, 2], 9), "ends": (prompt + reference(prompt, 1), 1)}
    requests |= {"q4": ([4, 4], 9), "q5": ([5, 5], 9), "q6": ([6, 6], 9), "q7": ([7, 7], 1), "q8": ([8, 8], 9)}
    if group.rank == 0:
        for request_id, (tokens, max_new_tokens) in requests.items():
            router.submit(request_id, tokens, max_new_tokens)
    router.step()
    router.step()
    with checks("condition"):
        if group.rank == 3:
            assert router.engine.cache.allocator.num_cached == 4
    if group.rank == 0:
        assert [router.load(rank) for rank in range(4)] == [3, 2, 2, 0]
        assert router.migrate("moved", 3)
        router.submit("big", big, 1)
    router.step()
    if group.rank == 0:
        assert router.rank_of("big") == 3
    # The big request needs eight of ten blocks of rank 3, and four of them are promised to the one that is on its way.
    router.run_until_idle(max_steps=60)
    with checks("condition"):
        assert router.engine.cache.allocator.num_used == 0
    if group.rank == 0:
        with checks("condition"):
            assert router.take("moved") == reference(prompt, 8)
            assert router.take("big") == reference(big, 1)


def test_dispatch_follows_load_and_eviction(group, make_router):
    router = make_router(num_blocks=6, max_inflight=2)
    prefixes = [[10 * rank + 1] * 4 + [10 * rank + 2] * 4 for rank in range(4)]
    if group.rank == 0:
        for rank, prefix in enumerate(prefixes):
            router.submit(f"a{rank}", prefix + [99], 1)
    router.run_until_idle()
    if group.rank == 0:
        for index in range(4):
            router.submit(f"b{index}", prefixes[2] + [index], 3)
    router.step()
    if group.rank == 0:
        # Rank 2 has room for two; the others go to the least loaded ranks.
        with checks("state-lifecycle"):
            assert [router.rank_of(f"b{index}") for index in range(4)] == [2, 2, 0, 1]
    router.run_until_idle()
    if group.rank == 0:
        router.submit("one", prefixes[3][:4] + [5], 1)
        router.submit("none", [5] + prefixes[3], 1)
    router.step()
    if group.rank == 0:
        with checks("state-lifecycle"):
            assert [router.rank_of("one"), router.rank_of("none")] == [3, 0]
    router.run_until_idle()
    if group.rank == 0:
        for index in range(4):
            router.submit(f"big{index}", [600 + index] * 22, 2)
    router.run_until_idle()
    if group.rank == 0:
        assert sorted(router.rank_of(f"big{index}") for index in range(4)) == [0, 1, 2, 3]
        router.submit("late", prefixes[3] + [6], 1)
    router.step()
    if group.rank == 0:
        # The big requests have evicted everything else, so the first of equally loaded ranks gets it.
        with checks("state-lifecycle"):
            assert router.rank_of("late") == 0
    router.run_until_idle()


def test_generating_steps_carry_no_list_of_prefixes(group, make_router, sent_bytes):
    router = make_router(num_blocks=200)
    if group.rank == 0:
        for index in range(4 * group.world_size):
            router.submit(f"r{index}", [index + 1] * 120, 1)
    router.run_until_idle()
    with checks("state-lifecycle"):
        assert router.engine.cache.allocator.num_cached == 120
    if group.rank == 0:
        for index in range(group.world_size):
            router.submit(f"s{index}", [700 + index], 12)
    router.step()
    router.step()
    sent_bytes[0] = 0
    for _ in range(8):
        router.step()
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=sent_bytes[0], limit=6000, unit="bytes", repeats=1)
    router.run_until_idle()


def test_forked_request_stays_when_the_other_moves(group, make_router, reference):
    router = make_router(num_blocks=8)
    prompt = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    if group.rank == 0:
        router.submit("a", prompt, 8)
    router.step()
    router.step()
    outputs = []
    if group.rank == 0:
        assert router.engine.fork("a", "b", seed=4)
        assert router.migrate("a", 2)
        collect = router.engine.collect

        def watched():
            made = collect()
            outputs.extend(output.token for output in made if output.request_id == "b")
            # The router knows nothing of b: its tokens are not for the router's clients.
            return [output for output in made if output.request_id != "b"]

        router.engine.collect = watched
    for _ in range(12):
        router.step()
    with checks("state-lifecycle"):
        assert router.engine.num_requests == 0
        assert router.engine.cache.allocator.num_used == 0
        assert router.engine.cache.num_free == 8
    if group.rank == 0:
        with checks("value"):
            assert router.take("a") == reference(prompt, 8)
            assert outputs == reference(prompt + reference(prompt, 1), 7, 4)
    router.run_until_idle()


def test_storm_of_shared_prefixes_and_moves(group, make_router, reference):
    router = make_router(num_blocks=10, max_inflight=4)
    chance = random.Random(7)
    prefixes = [[chance.randrange(900) for _ in range(length)] for length in (6, 11, 16)]
    requests = {}
    for index in range(120):
        if group.rank == 0:
            if index < 100:
                prompt = chance.choice(prefixes) + [chance.randrange(4) for _ in range(chance.randrange(1, 4))]
                requests[str(index)] = (prompt, chance.randrange(1, 9), chance.randrange(2))
                router.submit(str(index), *requests[str(index)])
            for request_id in requests:
                if chance.random() < 0.1:
                    router.migrate(request_id, chance.randrange(group.world_size))
        router.step()
        scheduler, allocator = router.engine.scheduler, router.engine.cache.allocator
        held = [block for request in scheduler.running for block in request.blocks]
        with checks("state-lifecycle"):
            assert all(allocator.ref_count(block) >= held.count(block) for block in held)
    router.run_until_idle(max_steps=400)
    computed = sum(group.all_gather(router.engine.stats.tokens_computed))
    with checks("state-lifecycle"):
        assert (router.engine.num_requests, router.engine.cache.allocator.num_used) == (0, 0)
    if group.rank == 0:
        with checks("value"):
            for request_id, (prompt, max_new_tokens, seed) in requests.items():
                assert router.take(request_id) == reference(prompt, max_new_tokens, seed)
    with checks("resource.speed"):
        check_resource("rows_computed", value=computed, limit=1200, unit="rows", repeats=1)
