"""Requirements on sharded checkpoints that ordinary tests leave open. Run on two ranks."""

import resource

import pytest
import torch
from infradev_report import checks
from trainers import differences, make_trainer, own_state, same, trained, whole_state

from torchfleet.checkpoint import CheckpointError, load_checkpoint, save_checkpoint


def refused(group, work):
    """What each rank's call raised, by rank."""
    try:
        work()
    except CheckpointError:
        return group.gather_objects("CheckpointError")
    except Exception as error:
        return group.gather_objects(type(error).__name__)
    return group.gather_objects(None)


def test_half_precision_continues_from_master_weights(group, shared_dir):
    first = trained(group, torch.bfloat16)
    expected = whole_state(first)
    save_checkpoint(shared_dir / "state", first)
    losses = [first.train_step() for _ in range(4)]
    second = make_trainer(group, torch.bfloat16)
    load_checkpoint(shared_dir / "state", second)
    wrong = differences(second, expected)
    dtypes = {tensor.dtype for tensor in own_state(second)[0][:3]}
    with checks("value"):
        assert wrong == []
        assert dtypes == {torch.float32}
        assert [second.train_step() for _ in range(4)] == losses


def test_a_save_that_fails_on_one_rank_leaves_the_one_before(group, shared_dir):
    trainer = trained(group)
    save_checkpoint(shared_dir / "state", trainer)
    before = own_state(trainer)
    trainer.train_step()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if group.rank == group.world_size - 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        raised = refused(group, lambda: save_checkpoint(shared_dir / "state", trainer))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    other = make_trainer(group)
    with checks("state-lifecycle"):
        assert raised == ["CheckpointError"] * group.world_size
        load_checkpoint(shared_dir / "state", other)
        assert group.gather_objects(same(own_state(other), before)) == [True] * group.world_size
        save_checkpoint(shared_dir / "state", trainer)
        load_checkpoint(shared_dir / "state", other)
        assert group.gather_objects(same(own_state(other), own_state(trainer))) == [True] * group.world_size


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_damaged_shard_changes_nothing(group, shared_dir, damage):
    save_checkpoint(shared_dir / "state", trained(group))
    files = sorted((file for file in (shared_dir / "state").rglob("*") if file.is_file()), key=lambda file: str(file))
    large = [file for file in files if file.stat().st_size > 4096]
    group.barrier()
    if group.rank == 0 and damage == "cut":
        with open(large[-1], "r+b") as file:
            file.truncate(large[-1].stat().st_size // 2)
    elif group.rank == 0:
        large[-1].unlink()
    group.barrier()
    trainer = trained(group, steps=1)
    before = own_state(trainer)
    raised = refused(group, lambda: load_checkpoint(shared_dir / "state", trainer))
    unchanged = group.gather_objects(same(own_state(trainer), before))
    with checks("state-lifecycle"):
        assert raised == ["CheckpointError"] * group.world_size
        assert unchanged == [True] * group.world_size


def test_training_goes_on_with_the_next_samples(group, shared_dir):
    first = trained(group)
    save_checkpoint(shared_dir / "state", first)
    losses = [first.train_step() for _ in range(3)]
    second = make_trainer(group.alone())
    load_checkpoint(shared_dir / "state", second)
    with checks("condition"):
        assert second.data.drawn == 3 * 12
        assert [second.train_step() for _ in range(3)] == pytest.approx(losses, rel=1e-3)


def test_nothing_else_is_left(group, shared_dir):
    trainer = trained(group)
    sizes = []
    for _ in range(3):
        trainer.train_step()
        save_checkpoint(shared_dir / "state", trainer)
        group.barrier()
        sizes.append(sum(file.stat().st_size for file in shared_dir.rglob("*") if file.is_file()))
        group.barrier()
    with checks("state-lifecycle"):
        assert max(sizes) <= 1.1 * 3 * 4 * trainer.optimizer.layout.numel + 16384
