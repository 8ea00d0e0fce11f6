"""The rollout worker's parts, and that the worker still does what it did."""

import json

import pytest

from tinyfleet.rl import RolloutConfig, RolloutWorker, TinyPolicy

VOCAB, HIDDEN = 12, 4
PROMPTS = [(1 + i % 5, 3 + i % 7) for i in range(13)]
NO_END = VOCAB

# What two collections produced on each of four ranks before the worker was split: (prompt index, tokens).
RECORDED = [
    [(2, (8, 9, 7, 0, 7)), (0, (4, 3, 1, 3, 1)), (11, (4, 5, 1, 1, 0)), (10, (11, 1, 1, 3, 1))],
    [(12, (4, 10, 2, 4, 10)), (3, (8, 7, 9, 9, 11)), (9, (11, 7, 7, 10, 9))],
    [(8, (0, 8, 6, 6, 8)), (1, (1, 3, 3, 8, 9)), (4, (9, 10, 2, 9, 9))],
    [(5, (9, 2, 9, 9, 9)), (7, (3, 8, 9, 9, 9)), (6, (9, 9, 9, 9, 9))],
]


def make_policy():
    policy = TinyPolicy(VOCAB, HIDDEN)
    policy.load(TinyPolicy.initial_values(VOCAB, HIDDEN, seed=3), version=0)
    return policy


def share_of_odd_tokens(prompt, tokens):
    return sum(token % 2 for token in tokens) / len(tokens)


CONFIG = RolloutConfig(batch_size=2, max_new_tokens=5, eos_token=NO_END, seed=5)


def make_collector(group, config=CONFIG):
    from tinyfleet.rl import Collector, RolloutEngine, Sampler

    sampler = Sampler(config.seed, group.rank, config.temperature, config.top_k)
    engine = RolloutEngine(make_policy(), sampler, config.max_new_tokens, config.eos_token, config.decode_budget)
    return Collector(group, engine, PROMPTS, share_of_odd_tokens, config)


def test_worker_produces_what_was_recorded(group):
    worker = RolloutWorker(group, make_policy(), PROMPTS, share_of_odd_tokens, CONFIG)
    produced = [(t.prompt_index, t.tokens) for _ in range(2) for t in worker.collect()]
    assert produced == RECORDED[group.rank]


def test_collector_produces_what_was_recorded(group):
    collector = make_collector(group)
    trajectories = [t for _ in range(2) for t in collector.collect()]
    assert [(t.prompt_index, t.tokens) for t in trajectories] == RECORDED[group.rank]
    assert all(t.reward == share_of_odd_tokens(t.prompt, t.tokens) for t in trajectories)
    assert (collector.epoch, collector.cursor) == (1, 0)


def test_worker_is_made_of_the_parts(group):
    from tinyfleet.rl.engine import RolloutEngine
    from tinyfleet.rl.sampler import Sampler

    policy = make_policy()
    worker = RolloutWorker(group, policy, PROMPTS, share_of_odd_tokens, CONFIG)
    assert isinstance(worker.engine, RolloutEngine)
    assert isinstance(worker.engine.sampler, Sampler)
    assert worker.engine.policy is policy


def test_sampler_is_greedy_at_temperature_zero(group):
    from tinyfleet.rl import Sampler

    sampler = Sampler(seed=1, rank=group.rank, temperature=0.0)
    assert [sampler.sample([0.0, 2.0, 1.0, 2.0])[0] for _ in range(5)] == [1] * 5


def test_sampler_keeps_to_the_top_tokens(group):
    from tinyfleet.rl import Sampler

    sampler = Sampler(seed=1, rank=group.rank, top_k=2)
    assert {sampler.sample([0.0, 2.0, 1.0, 2.0])[0] for _ in range(60)} == {1, 3}


def test_every_rank_has_its_own_stream(group):
    from tinyfleet.rl import Sampler

    def draw(seed):
        sampler = Sampler(seed, group.rank)
        return [sampler.sample([0.0] * 50)[0] for _ in range(8)]

    assert draw(1) == draw(1) != draw(2)
    draws = group.all_gather(draw(1))
    assert len({tuple(drawn) for drawn in draws}) == group.world_size


def test_engine_decodes_without_a_group(group):
    from tinyfleet.rl import Request, RolloutEngine, Sampler

    engine = RolloutEngine(make_policy(), Sampler(0, 0), max_new_tokens=4, eos_token=NO_END, decode_budget=3)
    assert engine.generate([Request(2, 0, PROMPTS[2]), Request(2, 1, PROMPTS[2])]) == []
    assert engine.unfinished == 2
    first, second = engine.generate([Request(5, 0, PROMPTS[5])])
    assert (first.request, second.request) == (Request(2, 0, PROMPTS[2]), Request(2, 1, PROMPTS[2]))
    assert len(first.tokens) == len(first.logprobs) == 4
    assert engine.unfinished == 1


def test_resumed_collector_goes_on(group):
    straight = make_collector(group)
    straight.collect()
    state = json.loads(json.dumps(straight.state_dict()))
    resumed = make_collector(group)
    resumed.load_state_dict(state)
    for _ in range(3):
        assert resumed.collect() == straight.collect()


def test_state_of_another_world_size_is_refused(group):
    collector = make_collector(group)
    state = {**collector.state_dict(), "world_size": group.world_size + 1}
    with pytest.raises(ValueError, match="world_size"):
        collector.load_state_dict(state)
