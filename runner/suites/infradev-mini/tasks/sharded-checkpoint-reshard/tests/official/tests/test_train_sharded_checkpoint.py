"""Checkpoints in one file per rank, loaded on other numbers of ranks. Run on four ranks."""

import pytest

from tinyfleet.train import MLP, SGD, Adam, Regression, Trainer
from tinyfleet.train.checkpoint import CheckpointError, load_sharded, save_sharded


def make_trainer(group, rule=None, **options):
    options = {"batch_size": 5, "seed": 3, "noise": 0.1, **options}
    return Trainer(MLP([3, 5, 2], seed=2), rule or Adam(lr=0.01), Regression(20, 3, 2), group, **options)


def optimizer_state(trainer):
    """The whole optimizer state, put together from all ranks."""
    optimizer = trainer.optimizer
    shards = trainer.group.all_gather([t.tolist() for t in (optimizer.master, *optimizer.slots.values())])
    return [sum(parts, []) for parts in zip(*shards)], optimizer.steps


def parameters(trainer):
    return {name: parameter.tolist() for name, parameter in trainer.model.parameters.items()}


def reload_on(group, ranks, directory, rule):
    """A trainer on the first `ranks` ranks that continues from `directory`; None on the other ranks."""
    members = group.subgroup(range(ranks))
    if members is None:
        return None
    trainer = make_trainer(members, rule)
    load_sharded(directory, trainer)
    return trainer


@pytest.mark.parametrize("rule", [SGD(lr=0.05), Adam(lr=0.01)], ids=["sgd", "adam"])
def test_round_trip_on_the_same_ranks(group, shared_dir, rule):
    trainer = make_trainer(group, rule)
    for _ in range(4):
        trainer.train_step()
    save_sharded(shared_dir / "checkpoint", trainer)
    loaded = make_trainer(group, rule)
    load_sharded(shared_dir / "checkpoint", loaded)
    assert optimizer_state(loaded) == optimizer_state(trainer)
    assert parameters(loaded) == parameters(trainer)


def test_four_ranks_to_two(group, shared_dir):
    trainer = make_trainer(group)
    for _ in range(4):
        trainer.train_step()
    save_sharded(shared_dir / "checkpoint", trainer)
    expected = optimizer_state(trainer)
    loaded = reload_on(group, 2, shared_dir / "checkpoint", Adam(lr=0.01))
    if loaded is not None:
        assert optimizer_state(loaded) == expected
        assert parameters(loaded) == parameters(trainer)


def test_two_ranks_to_four(group, shared_dir):
    members = group.subgroup([0, 1])
    expected = None
    if members is not None:
        trainer = make_trainer(members)
        for _ in range(4):
            trainer.train_step()
        save_sharded(shared_dir / "checkpoint", trainer)
        expected = optimizer_state(trainer)
    expected = group.broadcast(expected, src=0)
    loaded = reload_on(group, 4, shared_dir / "checkpoint", Adam(lr=0.01))
    assert optimizer_state(loaded) == expected


def test_training_continues_with_the_next_epoch(group, shared_dir):
    trainer = make_trainer(group, SGD(lr=0.05))
    for _ in range(4):
        trainer.train_step()
    save_sharded(shared_dir / "checkpoint", trainer)
    losses = [trainer.train_step() for _ in range(4)]
    loaded = reload_on(group, 2, shared_dir / "checkpoint", SGD(lr=0.05))
    if loaded is not None:
        assert [loaded.train_step() for _ in range(4)] == pytest.approx(losses, rel=1e-9)


def test_a_later_save_replaces_the_checkpoint(group, shared_dir):
    trainer = make_trainer(group)
    for _ in range(2):
        trainer.train_step()
        save_sharded(shared_dir / "checkpoint", trainer)
    loaded = make_trainer(group)
    load_sharded(shared_dir / "checkpoint", loaded)
    assert optimizer_state(loaded) == optimizer_state(trainer)
    assert loaded.optimizer.steps == 2


def test_what_does_not_fit_is_refused(group, shared_dir):
    with pytest.raises(CheckpointError):
        load_sharded(shared_dir / "nothing", make_trainer(group))
    save_sharded(shared_dir / "checkpoint", make_trainer(group))
    with pytest.raises(CheckpointError):
        load_sharded(shared_dir / "checkpoint", make_trainer(group, SGD(lr=0.05)))
