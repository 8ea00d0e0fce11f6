"""The split rollout against the one before it, on three ranks some of which run out of prompts."""

import json

import pytest
from infradev_report import checks
from rollout_cases import PROMPTS, make_collector, make_config, make_reference


@pytest.mark.parametrize("count", [1, 7])
def test_ranks_without_prompts_take_part(group, count):
    config = make_config(samples_per_prompt=2)
    reference = make_reference(group, config, PROMPTS[:count])
    collector = make_collector(group, config, PROMPTS[:count])
    sizes = []
    with checks("condition"):
        for _ in range(5):
            collected = collector.collect()
            assert collected == reference.collect()
            assert (collector.epoch, collector.cursor) == (reference.epoch, reference.cursor)
            sizes.append(len(collected))
    assert min(map(min, group.all_gather(sizes))) == 0, "the case is meant to leave some ranks without prompts"


def test_collections_in_which_nothing_finishes(group):
    config = make_config(batch_size=1, decode_budget=1, eos_token=-1, max_new_tokens=4)
    reference, collector = make_reference(group, config), make_collector(group, config)
    with checks("condition"):
        for step in range(8):
            collected = collector.collect()
            assert collected == reference.collect()
            assert step >= 3 or collected == []
        assert json.loads(json.dumps(collector.state_dict())) == reference.state_dict()
