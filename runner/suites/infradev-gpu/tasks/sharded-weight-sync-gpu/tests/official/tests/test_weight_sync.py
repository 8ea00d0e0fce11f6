"""Weights straight from trainers to rollout ranks, by version. Run on two ranks or more."""

import pytest
import torch

from torchfleet.rollout import RolloutEngine, policy_specs
from torchfleet.weight_sync import WeightSync
from torchfleet.weights import RolloutWeights, TrainerShards

VOCABULARY, HIDDEN = 24, 12


def whole_weights(specs, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = {
        spec.name: torch.randn(spec.shape, generator=generator, dtype=torch.float64).to(spec.master_dtype)
        for spec in specs
        if spec.tied_to is None
    }
    values["end_token"] = torch.tensor(VOCABULARY)  # never generated
    return values


def make_weights(group, specs):
    everyone = list(range(group.world_size))
    source = TrainerShards(specs, everyone, group.rank, group.device)
    source.load(whole_weights(specs))
    return source, RolloutWeights(specs, everyone, group.rank, group.device)


def make_sync(group, specs, **options):
    everyone = list(range(group.world_size))
    return WeightSync(group, specs, everyone, everyone, **options)


def assert_holds(target, values):
    for name, tensor in target.items():
        block = tuple(slice(start, stop) for start, stop in target.block(name))
        assert torch.equal(tensor.cpu(), values[name].to(tensor.dtype)[block]), name


def test_nothing_is_collected_on_one_rank(group, monkeypatch):
    def refused(*args, **options):
        raise AssertionError("a push gives every rank whole tensors")

    specs = policy_specs(VOCABULARY, HIDDEN, torch.bfloat16)
    source, target = make_weights(group, specs)
    for name in ("broadcast", "all_gather", "start_all_gather"):
        monkeypatch.setattr(group, name, refused)
    make_sync(group, specs).push(source, target)
    assert_holds(target, whole_weights(specs))


def test_small_buckets_bring_the_same(group):
    specs = policy_specs(VOCABULARY, HIDDEN, torch.bfloat16)
    source, target = make_weights(group, specs)
    make_sync(group, specs, bucket_bytes=64).push(source, target)
    assert_holds(target, whole_weights(specs))


def test_a_push_brings_a_version(group):
    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs)
    sync = make_sync(group, specs)
    for version in (4, 5):
        source.version = version
        sync.push(source, target)
        assert target.version == version


def test_trainers_that_disagree_are_refused(group):
    from torchfleet.weight_sync import VersionMismatch

    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs)
    source.version = group.rank
    with pytest.raises(VersionMismatch):
        make_sync(group, specs).push(source, target)
    assert target.version == -1
    assert not any(tensor.any() for _, tensor in target.items())


def test_tokens_know_their_version(group):
    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs)
    sync, engine = make_sync(group, specs), RolloutEngine(group, target)
    for version in (1, 2):
        source.version = version
        sync.push(source, target)
        engine.start([[3, 1], [2]])
        for _ in range(3):
            engine.step()
        assert engine.versions == [[version] * 3] * 2


def test_incomplete_weights_generate_nothing(group):
    from torchfleet.rollout import WeightsIncomplete

    specs = policy_specs(VOCABULARY, HIDDEN)
    source, target = make_weights(group, specs)
    make_sync(group, specs).push(source, target)
    engine = RolloutEngine(group, target)
    engine.start([[1]])
    target.version = None
    with pytest.raises(WeightsIncomplete):
        engine.step()
    with pytest.raises(WeightsIncomplete):
        engine.start([[1]])
    assert engine.sequences == [[1]]
