"""Aborts and moves over three ranks."""

from infradev_report import checks


def test_moving_requests_are_aborted_in_every_state(group, make_router, reference):
    # Of 12 requests, 4 a rank: each rank runs two, and two wait.
    router = make_router(max_running=2)
    ids = [f"r{index}" for index in range(12)]
    if group.rank == 0:
        for index, request_id in enumerate(ids):
            router.submit(request_id, [index + 1, 5, 5, 5, 5], 6)
    router.step()
    router.step()
    if group.rank == 0:
        for request_id in ids:
            assert router.migrate(request_id, (router.rank_of(request_id) + 1) % 3)
    router.step()
    if group.rank == 0:
        for request_id in ids[::2]:
            assert router.abort(request_id)
    router.run_until_idle(max_steps=60)
    with checks("condition"):
        assert (router.engine.num_requests, router.engine.cache.num_free) == (0, 16)
    if group.rank == 0:
        with checks("condition"):
            assert [router.load(rank) for rank in range(3)] == [0, 0, 0]
        with checks("value"):
            for index in range(1, 12, 2):
                assert router.take(ids[index]) == reference([index + 1, 5, 5, 5, 5], 6)


def test_waiting_request_moves_to_an_idle_rank(group, make_router, reference):
    router = make_router(max_running=1)
    ids = [f"r{index}" for index in range(6)]
    if group.rank == 0:
        for index, request_id in enumerate(ids):
            router.submit(request_id, [index + 1, 5, 5], 20 if index % 3 == 0 else 2)
    for _ in range(7):
        router.step()
    if group.rank == 0:
        # Ranks 1 and 2 are done; r3 still waits behind r0 on rank 0.
        assert [request.request_id for request in router.engine.scheduler.waiting] == ["r3"]
        assert router.migrate("r3", 2)
    for _ in range(4):
        router.step()
    with checks("condition"):
        assert router.engine.num_requests == (0 if group.rank == 1 else 1)
        if group.rank == 0:
            assert len(router.output("r3")) > 0
            assert router.engine.scheduler.waiting.__len__() == 0
    router.run_until_idle(max_steps=60)
    if group.rank == 0:
        with checks("value"):
            assert router.take("r3") == reference([4, 5, 5], 20)
