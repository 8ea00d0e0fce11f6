"""Bucketed reduction of gradients into shards. Run on four ranks."""

import pytest

from tinyfleet.tensor import Tensor
from tinyfleet.train import MLP, SGD, Adam, FlatLayout, Regression, ShardedOptimizer, Trainer
from tinyfleet.train.reduction import GradientReducer

SIZES = (16, 32, 8)


def make_gradients(group, sizes=SIZES):
    """A layout, and gradients that differ from rank to rank."""
    model = MLP(sizes)
    for gradient in model.gradients.values():
        gradient.map_(lambda _, counter=iter(range(gradient.numel)): (group.rank + 1) / (next(counter) + 3))
    return FlatLayout({name: g.shape for name, g in model.gradients.items()}), model.gradients


def all_reduced_shard(group, layout, gradients):
    copies = {name: group.all_reduce(gradient.clone()) for name, gradient in gradients.items()}
    start, stop = layout.shard_bounds(group.rank, group.world_size)
    return layout.gather(copies, start, stop, Tensor.zeros(stop - start))


@pytest.mark.parametrize("bucket_bytes", [128, 1024, 65536])
def test_shard_is_that_of_all_reduce(group, bucket_bytes):
    layout, gradients = make_gradients(group)
    shard = GradientReducer(layout, group, bucket_bytes).reduce(gradients)
    assert shard.tolist() == all_reduced_shard(group, layout, gradients).tolist()


def test_about_half_the_bytes_of_all_reduce(group):
    layout, gradients = make_gradients(group)
    all_reduced_shard(group, layout, gradients)
    before = group.stats.total_sent()
    group.stats.reset()
    GradientReducer(layout, group, bucket_bytes=1024).reduce(gradients)
    assert group.stats.total_sent() < 0.6 * before


@pytest.mark.parametrize("rule", [SGD(lr=0.05), Adam(lr=0.01)], ids=["sgd", "adam"])
def test_training_has_the_numbers_of_all_reduce(group, rule):
    trainer = Trainer(MLP([3, 5, 2], seed=2), rule, Regression(20, 3, 2), group, batch_size=6, bucket_bytes=64)
    reference = Trainer(MLP([3, 5, 2], seed=2), rule, Regression(20, 3, 2), group, batch_size=6)
    reference.reduce_gradients = lambda: all_reduced_shard(group, reference.layout, reference.model.gradients)
    for _ in range(3):
        assert trainer.train_step() == reference.train_step()
    for name, parameter in trainer.model.parameters.items():
        assert parameter.tolist() == reference.model.parameters[name].tolist()


def test_optimizer_takes_the_shard(group):
    model = MLP([3, 5, 2])
    layout = FlatLayout({name: p.shape for name, p in model.parameters.items()})
    optimizer = ShardedOptimizer(SGD(lr=0.5), layout, model.parameters, group)
    before = optimizer.master.tolist()
    optimizer.step(model.parameters, Tensor.full(optimizer.master.shape, 2.0))
    assert optimizer.master.tolist() == [value - 1.0 for value in before]
    with pytest.raises(ValueError):
        optimizer.step(model.parameters, Tensor.zeros(optimizer.master.numel + 1))
    assert optimizer.steps == 1


def test_bucket_size_must_be_positive(group):
    layout, _ = make_gradients(group)
    with pytest.raises(ValueError):
        GradientReducer(layout, group, bucket_bytes=0)
