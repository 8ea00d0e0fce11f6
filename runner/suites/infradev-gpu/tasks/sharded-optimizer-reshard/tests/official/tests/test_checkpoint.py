"""Checkpoints in shards. Run on two ranks."""

import pytest
import torch

from torchfleet.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from torchfleet.model import Config, Transformer
from torchfleet.trainer import Trainer

CONFIG = Config(width=16, heads=2, blocks=1, length=8, vocabulary=11)


def make_trainer(group, config=CONFIG):
    return Trainer(Transformer(config, group.alone(), seed=2), group)


def trained(group, steps=3):
    trainer = make_trainer(group)
    for _ in range(steps):
        trainer.train_step()
    return trainer


def whole_state(trainer):
    """Master weights, mean and square of all shards."""
    size = trainer.optimizer.layout.shard_size(trainer.group.world_size)
    tensors = (trainer.optimizer.master, trainer.optimizer.mean, trainer.optimizer.square)
    padded = [torch.nn.functional.pad(tensor, (0, size - tensor.numel())) for tensor in tensors]
    return [trainer.group.all_gather(tensor)[: trainer.optimizer.layout.numel] for tensor in padded]


def test_the_same_ranks_continue(group, shared_dir):
    first = trained(group)
    save_checkpoint(shared_dir / "state", first)
    expected = [first.train_step() for _ in range(3)]
    second = make_trainer(group)
    load_checkpoint(shared_dir / "state", second)
    assert [second.train_step() for _ in range(3)] == expected


def test_one_rank_loads_what_two_saved(group, shared_dir):
    first = trained(group)
    save_checkpoint(shared_dir / "state", first)
    second = make_trainer(group.alone())
    load_checkpoint(shared_dir / "state", second)
    for own, expected in zip(whole_state(second), whole_state(first)):
        assert torch.equal(own, expected)
    assert second.optimizer.steps == 3


def test_two_ranks_load_what_one_saved(group, shared_dir):
    first = trained(group.alone())
    if group.rank == 0:
        save_checkpoint(shared_dir / "state", first)
    group.barrier()
    second = make_trainer(group)
    load_checkpoint(shared_dir / "state", second)
    for own, expected in zip(whole_state(second), whole_state(first)):
        assert torch.equal(own, expected)


def test_the_newest_is_loaded(group, shared_dir):
    trainer = trained(group)
    save_checkpoint(shared_dir / "state", trainer)
    trainer.train_step()
    save_checkpoint(shared_dir / "state", trainer)
    other = make_trainer(group)
    load_checkpoint(shared_dir / "state", other)
    assert other.optimizer.steps == 4


def test_each_rank_writes_its_part(group, shared_dir):
    trainer = trained(group)
    save_checkpoint(shared_dir / "state", trainer)
    sizes = [file.stat().st_size for file in (shared_dir / "state").rglob("*") if file.is_file()]
    state = 3 * 4 * trainer.optimizer.layout.numel
    assert max(sizes) < 0.7 * state
    assert sum(sizes) < 1.3 * state


def test_nothing_to_load(group, shared_dir):
    with pytest.raises(CheckpointError):
        load_checkpoint(shared_dir / "nowhere", make_trainer(group))


def test_another_model_is_refused(group, shared_dir):
    save_checkpoint(shared_dir / "state", make_trainer(group))
    with pytest.raises(CheckpointError):
        load_checkpoint(shared_dir / "state", make_trainer(group, Config()))
