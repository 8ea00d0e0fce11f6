"""Checkpoints in one file."""

import pytest

from tinyfleet.tensor import Tensor
from tinyfleet.train import MLP, SGD, Adam, Regression, Trainer
from tinyfleet.train.checkpoint import CheckpointError, load_full, save_full
from tinyfleet.train.tensorfile import read, write


def make_trainer(group, rule=None, sizes=(3, 5, 2)):
    return Trainer(MLP(sizes, seed=2), rule or Adam(lr=0.01), Regression(20, 3, 2), group, batch_size=6)


def test_tensor_file_round_trip(tmp_path):
    path = tmp_path / "tensors"
    tensors = {"a": Tensor.of([[1.5, 2], [3, 4]], "f4"), "none": Tensor.zeros(0, "f8"), "b": Tensor.of([-7], "i8")}
    write(path, {"answer": 42}, tensors)
    meta, back = read(path)
    assert meta == {"answer": 42}
    assert {name: (t.dtype, t.shape, t.tolist()) for name, t in back.items()} == {
        name: (t.dtype, t.shape, t.tolist()) for name, t in tensors.items()
    }


def test_damaged_tensor_file_is_refused(tmp_path):
    path = tmp_path / "tensors"
    write(path, {}, {"a": Tensor.zeros(10)})
    whole = path.read_bytes()
    for cut in (4, 20, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(CheckpointError):
            read(path)


def test_full_checkpoint_restores_parameters_and_optimizer(group, shared_dir):
    trainer = make_trainer(group)
    for _ in range(3):
        trainer.train_step()
    save_full(shared_dir / "full", trainer)
    loaded = make_trainer(group)
    load_full(shared_dir / "full", loaded)
    assert loaded.optimizer.steps == 3
    assert loaded.optimizer.master.tolist() == trainer.optimizer.master.tolist()
    for name, slot in trainer.optimizer.slots.items():
        assert loaded.optimizer.slots[name].tolist() == slot.tolist()
    for name, parameter in trainer.model.parameters.items():
        assert loaded.model.parameters[name].tolist() == parameter.tolist()


def test_full_checkpoint_of_another_training_is_refused(group, shared_dir):
    save_full(shared_dir / "full", make_trainer(group))
    with pytest.raises(CheckpointError, match="other shapes"):
        load_full(shared_dir / "full", make_trainer(group, sizes=(3, 4, 2)))
    with pytest.raises(CheckpointError, match="adam"):
        load_full(shared_dir / "full", make_trainer(group, SGD(lr=0.1)))
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_full(shared_dir / "missing", make_trainer(group))
