"""Weights from trainers to rollout ranks, and generation with them. Run on one or more ranks."""

import pytest
import torch

from torchfleet.rollout import RolloutEngine, policy_specs
from torchfleet.weight_sync import WeightSync
from torchfleet.weights import RolloutWeights, TrainerShards, interval

VOCABULARY, HIDDEN = 12, 8


def whole_weights(specs, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = {
        spec.name: torch.randn(spec.shape, generator=generator, dtype=torch.float64).to(spec.master_dtype)
        for spec in specs
        if spec.tied_to is None
    }
    values["end_token"] = torch.tensor(0)
    return values


def make_weights(group, specs, trainers, rollouts, seed=0):
    source = target = None
    if group.rank in trainers:
        source = TrainerShards(specs, trainers, group.rank, group.device)
        source.load(whole_weights(specs, seed))
    if group.rank in rollouts:
        target = RolloutWeights(specs, rollouts, group.rank, group.device)
    return source, target


def generate(values, prompt, steps):
    """What one process with the whole weights generates."""

    def advance(state, token):
        return torch.tanh((values["recurrent"] @ state + values["embedding"][token]) * values["scale"])

    state, tokens = torch.zeros(HIDDEN), list(prompt)
    for token in prompt:
        state = advance(state, token)
    for _ in range(steps):
        if tokens[-1] != int(values["end_token"]):
            tokens.append(int(((state @ values["embedding"].T).double() - values["penalty"]).argmax()))
            state = advance(state, tokens[-1])
    return tokens


def test_intervals_cover_everything():
    assert [interval(7, 3, part) for part in range(3)] == [(0, 3), (3, 5), (5, 7)]
    assert [interval(1, 2, part) for part in range(2)] == [(0, 1), (1, 1)]


@pytest.mark.parametrize("roles", ["colocated", "first-to-last"])
def test_push_brings_values_and_version(group, roles):
    everyone = list(range(group.world_size))
    trainers, rollouts = (everyone, everyone) if roles == "colocated" else (everyone[:1], everyone[-1:])
    specs = policy_specs(VOCABULARY, HIDDEN, torch.bfloat16)
    source, target = make_weights(group, specs, trainers, rollouts)
    if source is not None:
        source.version = 3
    WeightSync(group, specs, trainers, rollouts).push(source, target)
    if target is not None:
        assert target.version == 3
        for name, tensor in target.items():
            block = tuple(slice(start, stop) for start, stop in target.block(name))
            assert torch.equal(tensor.cpu(), whole_weights(specs)[name].to(tensor.dtype)[block])


def test_generation_is_that_of_one_process(group):
    everyone = list(range(group.world_size))
    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs, everyone, everyone)
    WeightSync(group, specs, everyone, everyone).push(source, target)
    engine = RolloutEngine(group, target)
    engine.start([[1, 2], [3]])
    for _ in range(6):
        engine.step()
    assert engine.sequences == [generate(whole_weights(specs), prompt, 6) for prompt in ([1, 2], [3])]


def test_tied_names_are_one_tensor(group):
    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs, [group.rank], [group.rank])
    assert target.tensor("head") is target.tensor("embedding")
    assert source.shard("head") is source.shard("embedding")


def test_weights_of_another_rank_are_refused(group):
    with pytest.raises(ValueError, match="none of the ranks"):
        TrainerShards(policy_specs(VOCABULARY, HIDDEN), [group.world_size], group.rank, group.device)
