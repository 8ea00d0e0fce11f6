"""The split rollout against the one before it, on four ranks."""

import json
import tracemalloc

import pytest
from infradev_report import check_resource, checks
from rollout_cases import (
    END,
    PROMPTS,
    VOCAB,
    make_collector,
    make_config,
    make_policy,
    make_reference,
    make_worker,
)

from tinyfleet.rl import Request, RolloutEngine, Sampler, TinyPolicy

SETTINGS = {
    "tempered": {"temperature": 0.6},
    "top-k": {"top_k": 3, "temperature": 1.7},
    "greedy": {"temperature": 0.0, "eos_token": VOCAB},
}


def through_json(state):
    return json.loads(json.dumps(state))


@pytest.mark.parametrize("settings", SETTINGS)
def test_results_and_streams_under_other_settings(group, settings):
    config = make_config(samples_per_prompt=2, **SETTINGS[settings])
    reference, collector = make_reference(group, config), make_collector(group, config)
    with checks("value"):
        for _ in range(3):
            assert collector.collect() == reference.collect()
        assert through_json(collector.state_dict())["rng"] == reference.state_dict()["rng"]


def test_ended_completions_do_not_draw(group):
    config = make_config(batch_size=3, samples_per_prompt=3, max_new_tokens=9)
    reference, collector = make_reference(group, config), make_collector(group, config)
    lengths = set()
    with checks("value"):
        for _ in range(3):
            expected = reference.collect()
            assert collector.collect() == expected
            lengths.update(len(trajectory.tokens) for trajectory in expected)
    assert len(lengths) > 3, "the case is meant to have completions of many lengths"


def test_states_are_exchangeable_with_completions_under_way(group):
    config = make_config(decode_budget=2, samples_per_prompt=2)
    reference, collector = make_reference(group, config), make_collector(group, config)
    for _ in range(3):
        reference.collect()
        collector.collect()
    state = through_json(reference.state_dict())
    assert state["unfinished"]
    with checks("state-lifecycle"):
        assert through_json(collector.state_dict()) == state, "the saved states differ"
        resumed, downgraded = make_collector(group, config), make_reference(group, config)
        resumed.load_state_dict(state)
        downgraded.load_state_dict(through_json(collector.state_dict()))
        for _ in range(6):
            expected = reference.collect()
            assert resumed.collect() == expected
            assert downgraded.collect() == expected
        assert through_json(resumed.state_dict()) == reference.state_dict()


def test_a_resumed_completion_keeps_the_version_it_began_under(group):
    config = make_config(decode_budget=2, eos_token=VOCAB)
    collector = make_collector(group, config, policy=make_policy(version=3))
    collector.collect()
    state = through_json(collector.state_dict())
    resumed = make_collector(group, config, policy=make_policy(seed=4, version=4))
    reference = make_reference(group, config, policy=make_policy(seed=4, version=4))
    resumed.load_state_dict(state)
    reference.load_state_dict(state)
    with checks("state-lifecycle"):
        for _ in range(3):
            assert resumed.collect() == reference.collect()


def test_new_weights_are_used_from_the_next_call_on(group):
    config = make_config(decode_budget=2, eos_token=VOCAB)
    ours, theirs = make_policy(), make_policy()
    collector = make_collector(group, config, policy=ours)
    reference = make_reference(group, config, policy=theirs)
    with checks("state-lifecycle"):
        for version in range(1, 6):
            assert collector.collect() == reference.collect()
            for policy in (ours, theirs):
                policy.load(TinyPolicy.initial_values(VOCAB, policy.hidden, seed=10 + version), version)


def test_the_workers_policy_can_be_replaced(group):
    config = make_config(decode_budget=3)
    worker, reference = make_worker(group, config), make_reference(group, config)
    with checks("state-lifecycle"):
        for version in range(1, 4):
            assert worker.collect() == reference.collect()
            worker.policy = make_policy(seed=20 + version, version=version)
            reference.policy = make_policy(seed=20 + version, version=version)


BROKEN = {
    "rank": lambda state: state.update(rank=state["rank"] + 1),
    "format": lambda state: state.update(format=2),
    "unfinished": lambda state: state["unfinished"][-1].pop("logprobs"),
    "rng": lambda state: state["rng"][1].pop(),
    "cursor": lambda state: state.pop("cursor"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_refused_state_changes_nothing(group, broken):
    config = make_config(decode_budget=2, eos_token=VOCAB)
    collector = make_collector(group, config)
    collector.collect()
    other = make_collector(group, make_config(decode_budget=2, eos_token=VOCAB, seed=6))
    other.collect()
    other.collect()
    state = through_json(other.state_dict())
    BROKEN[broken](state)
    before = through_json(collector.state_dict())
    with checks("state-lifecycle"):
        with pytest.raises(ValueError if broken in ("rank", "format") else Exception):
            collector.load_state_dict(state)
        assert through_json(collector.state_dict()) == before


def test_the_engine_works_alone_and_in_order(group):
    engine = RolloutEngine(make_policy(), Sampler(5, group.rank), max_new_tokens=5, eos_token=END, decode_budget=2)
    requests = [Request(index, 0, PROMPTS[index]) for index in range(6)]
    done, order = [], []
    for start in (0, 3):
        done += engine.generate(requests[start : start + 3])
    group.stats.reset()
    while engine.unfinished:
        order.append(engine.unfinished)
        done += engine.generate([])
    with checks("value"):
        assert sorted(completion.request.prompt_index for completion in done) == list(range(6))
        assert order == sorted(order, reverse=True)
        for completion in done:
            assert len(completion.tokens) == len(completion.logprobs)
            assert completion.tokens[-1] == END or len(completion.tokens) == 5
            assert completion.request.prompt == PROMPTS[completion.request.prompt_index]
    with checks("resource.traffic"):
        assert group.stats.total_sent() == 0


def test_a_collection_sends_no_more_than_before(group, wire):
    config = make_config(samples_per_prompt=2)
    sent = {}
    for name, rollout in (("before", make_reference(group, config)), ("now", make_collector(group, config))):
        group.barrier()
        wire.sent = 0
        for _ in range(4):
            rollout.collect()
        sent[name] = wire.sent
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=sent["now"], limit=int(1.1 * sent["before"]), unit="bytes")


def test_a_collection_needs_no_more_memory_than_before(group):
    vocab = 256
    config = make_config(batch_size=1, max_new_tokens=12, eos_token=vocab, samples_per_prompt=2)
    peak = {}
    for name, make in (("before", make_reference), ("now", make_collector)):
        rollout = make(group, config, policy=make_policy(vocab=vocab))
        rollout.collect()  # what is imported or cached once does not count
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            rollout.collect()
            peak[name] = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
    with checks("resource.memory"):
        check_resource("peak_memory", value=peak["now"], limit=int(1.25 * peak["before"]) + 16384, unit="bytes")
