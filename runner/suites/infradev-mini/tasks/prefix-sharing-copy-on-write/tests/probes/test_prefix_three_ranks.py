"""Shared prefixes over three ranks, with blocks of another size."""

from infradev_report import check_resource, checks

PREFIX = list(range(800, 817))


def test_requests_swap_ranks_in_a_ring(group, make_router, reference):
    router = make_router(num_blocks=16, block_size=5)
    lengths = (17, 16, 15)
    if group.rank == 0:
        for index, length in enumerate(lengths):
            router.submit(f"r{index}", PREFIX[:length] + [index] * index, 9)
    for _ in range(3):
        router.step()
    for _ in range(2):
        if group.rank == 0:
            for index in range(3):
                assert router.migrate(f"r{index}", (router.rank_of(f"r{index}") + 1) % 3)
        router.step()
        router.step()
    router.run_until_idle(max_steps=40)
    with checks("condition"):
        assert (router.engine.num_requests, router.engine.cache.allocator.num_used) == (0, 0)
    if group.rank == 0:
        with checks("value"):
            for index, length in enumerate(lengths):
                assert router.take(f"r{index}") == reference(PREFIX[:length] + [index] * index, 9)
    # Each rank computed its own prompt once, and its share of what was generated.
    with checks("resource.speed"):
        check_resource("rows_computed", value=router.engine.stats.tokens_computed, limit=32, unit="rows", repeats=1)
    with checks("condition"):
        assert len(router.engine.cache.match_prefix(PREFIX)) == 3


def test_prefix_that_fills_its_blocks_needs_no_row(group, make_router, reference):
    router = make_router(num_blocks=16, block_size=5)
    if group.rank == 0:
        router.submit("a", PREFIX[:15], 1)
    router.run_until_idle()
    if group.rank == 0:
        router.submit("b", PREFIX[:15], 3)
        router.submit("c", PREFIX[:15], 3, seed=1)
    router.run_until_idle()
    if group.rank == 0:
        with checks("condition"):
            assert router.rank_of("b") == router.rank_of("c") == 0
            assert router.take("b") == reference(PREFIX[:15], 3)
            assert router.take("c") == reference(PREFIX[:15], 3, 1)
        with checks("resource.speed"):
            check_resource("rows_computed", value=router.engine.stats.tokens_computed, limit=19, unit="rows", repeats=1)
    with checks("condition"):
        assert router.engine.stats.tokens_computed == (19 if group.rank == 0 else 0)
