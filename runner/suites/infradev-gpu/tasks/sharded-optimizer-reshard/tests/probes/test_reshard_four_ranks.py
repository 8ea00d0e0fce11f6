"""Requirements on sharded checkpoints that show on four ranks."""

import pytest
import torch
from infradev_report import check_resource, checks
from trainers import LARGE, differences, make_trainer, trained, whole_state

from torchfleet.checkpoint import load_checkpoint, save_checkpoint


@pytest.mark.parametrize("saved, loaded", [(4, 3), (3, 4), (2, 3), (1, 4)])
def test_any_number_of_ranks(group, shared_dir, saved, loaded):
    writers, readers = group.subgroup(range(saved)), group.subgroup(range(loaded))
    expected, losses = None, None
    if writers is not None:
        first = trained(writers, torch.bfloat16)
        expected = whole_state(first)
        save_checkpoint(shared_dir / "state", first)
        losses = [first.train_step() for _ in range(2)]
    expected, losses = group.broadcast_object((expected, losses), src=0)
    with checks("condition"):
        if readers is not None:
            second = make_trainer(readers, torch.bfloat16)
            load_checkpoint(shared_dir / "state", second)
            assert differences(second, expected) == []
            assert second.optimizer.steps == 3
            assert second.data.drawn == 3 * 12 // loaded
            assert [second.train_step() for _ in range(2)] == pytest.approx(losses, rel=2e-2)
    group.barrier()


def bytes_read():
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("rchar"))


def test_only_the_own_range_is_read(group, shared_dir):
    save_checkpoint(shared_dir / "small", trained(group, steps=1))
    load_checkpoint(shared_dir / "small", make_trainer(group))
    trainer = make_trainer(group, torch.bfloat16, LARGE)
    save_checkpoint(shared_dir / "state", trainer)
    readers = group.subgroup(range(3))
    if readers is not None:
        other = make_trainer(readers, torch.bfloat16, LARGE)
        before = bytes_read()
        load_checkpoint(shared_dir / "state", other)
        read = bytes_read() - before
        state = 3 * other.optimizer.master.nbytes
        with checks("resource.traffic"):
            # what ranks say to each other is read too: the new parameters, in their own dtype
            published = 2 * other.optimizer.layout.numel
            check_resource("bytes_read", value=read, limit=1.1 * state + published + 262144, unit="bytes")
    group.barrier()
