"""Data-parallel training at any world size."""

import pytest

from tinyfleet.train import MLP, SGD, Adam, Regression, SampleStream, Trainer


def make_trainer(group, rule=None, dtype="f8", **options):
    options = {"batch_size": 6, "seed": 3, **options}
    return Trainer(MLP([3, 5, 2], seed=2, dtype=dtype), rule or Adam(lr=0.01), Regression(20, 3, 2), group, **options)


def alone(group):
    """The group of this rank only."""
    return [group.subgroup([rank]) for rank in range(group.world_size)][group.rank]


def test_stream_draws_every_sample_once_an_epoch():
    stream = SampleStream(10, 4, seed=1)
    drawn = [index for _ in range(5) for index in stream.next_batch()]
    assert sorted(drawn[:10]) == sorted(drawn[10:]) == list(range(10))
    assert drawn[:10] != drawn[10:]


@pytest.mark.parametrize("rule", [SGD(lr=0.05), Adam(lr=0.01)], ids=["sgd", "adam"])
def test_many_ranks_train_as_one(group, rule):
    together = make_trainer(group, rule, noise=0.1)
    reference = make_trainer(alone(group), rule, noise=0.1)
    for _ in range(6):
        assert together.train_step() == pytest.approx(reference.train_step(), rel=1e-9)
    for name, parameter in together.model.parameters.items():
        expected = reference.model.parameters[name].elements().tolist()
        assert parameter.elements().tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_replicas_stay_the_same(group, dtype):
    trainer = make_trainer(group, dtype=dtype)
    for _ in range(3):
        trainer.train_step()
    mine = {name: parameter.tolist() for name, parameter in trainer.model.parameters.items()}
    assert all(other == mine for other in group.all_gather(mine))


def test_training_learns(group):
    trainer = make_trainer(group, SGD(lr=0.05), batch_size=20)
    losses = [trainer.train_step() for _ in range(30)]
    assert losses[-1] < losses[0] / 2


def test_accumulation_is_one_larger_batch(group):
    small, large = make_trainer(group, batch_size=4, accumulation=3), make_trainer(group, batch_size=12)
    for _ in range(3):
        assert small.train_step() == pytest.approx(large.train_step(), rel=1e-9)


def test_gradients_over_the_norm_are_scaled_down(group):
    free, clipped = make_trainer(group, SGD(lr=1.0)), make_trainer(group, SGD(lr=1.0), max_norm=0.01)
    before = {name: parameter.clone() for name, parameter in clipped.model.parameters.items()}
    free.train_step()
    clipped.train_step()
    assert clipped.gradient_norm == pytest.approx(free.gradient_norm, rel=1e-12)
    assert clipped.gradient_norm > 0.01
    moved = sum(
        (new - old) ** 2
        for name, parameter in clipped.model.parameters.items()
        for new, old in zip(parameter.elements(), before[name].elements())
    )
    assert moved**0.5 == pytest.approx(0.01, rel=1e-9)


def test_a_batch_smaller_than_the_group(group):
    trainer, reference = make_trainer(group, batch_size=1), make_trainer(alone(group), batch_size=1)
    assert trainer.train_step() == pytest.approx(reference.train_step(), rel=1e-9)
