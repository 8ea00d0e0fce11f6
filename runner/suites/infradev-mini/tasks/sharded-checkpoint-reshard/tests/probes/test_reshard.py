"""Requirements on sharded checkpoints that ordinary tests leave open. Run on four ranks."""

import os
import socket
import tracemalloc

import pytest
from infradev_report import check_resource, checks

from tinyfleet.comm import CommError, init_group
from tinyfleet.train import MLP, SGD, Adam, Regression, Trainer
from tinyfleet.train.checkpoint import CheckpointError, load_sharded, save_sharded

KIB = 1024


def make_trainer(group, rule=None, sizes=(3, 5, 2), dtype="f8", **options):
    options = {"batch_size": 5, "seed": 3, "noise": 0.1, **options}
    data = Regression(23, sizes[0], sizes[-1])
    return Trainer(MLP(sizes, seed=2, dtype=dtype), rule or Adam(lr=0.01), data, group, **options)


def train(trainer, steps):
    return [trainer.train_step() for _ in range(steps)]


def own_state(trainer):
    """All that a load may change on this rank, as plain values, without drawing from any generator."""
    optimizer, stream = trainer.optimizer, trainer.stream
    return {
        "master": optimizer.master.tolist(),
        "slots": {name: slot.tolist() for name, slot in optimizer.slots.items()},
        "steps": optimizer.steps,
        "parameters": {name: p.tolist() for name, p in trainer.model.parameters.items()},
        "epoch": stream.epoch,
        "position": stream.position,
    }


def whole_state(trainer):
    """The optimizer's state over all ranks of the trainer's group."""
    states = trainer.group.all_gather(own_state(trainer))
    whole = {"steps": states[0]["steps"], "master": sum((state["master"] for state in states), [])}
    for name in trainer.optimizer.slots:
        whole[name] = sum((state["slots"][name] for state in states), [])
    return whole


def on_first(group, ranks, work):
    """Run `work(subgroup)` on the first `ranks` ranks; its result on rank 0 is returned on every rank."""
    members = group.subgroup(range(ranks))
    return group.broadcast(work(members) if members is not None else None, src=0)


def fill_with_pattern(trainer):
    """Give master and slots values that tell every element of every tensor apart."""
    optimizer = trainer.optimizer
    for base, tensor in enumerate((optimizer.master, *optimizer.slots.values())):
        for i in range(tensor.numel):
            tensor[i] = base + (optimizer.start + i + 1) / 1024
    optimizer.publish(trainer.model.parameters)


@pytest.mark.parametrize("saved_on, loaded_on", [(4, 3), (3, 4), (3, 2)])
def test_world_sizes_that_do_not_divide(group, shared_dir, saved_on, loaded_on):
    def save(members):
        trainer = make_trainer(members, sizes=(3, 4, 3))
        train(trainer, 2)
        save_sharded(shared_dir / "checkpoint", trainer)
        return whole_state(trainer)

    def load(members):
        trainer = make_trainer(members, sizes=(3, 4, 3))
        load_sharded(shared_dir / "checkpoint", trainer)
        return whole_state(trainer)

    expected = on_first(group, saved_on, save)
    with checks("condition"):
        assert on_first(group, loaded_on, load) == expected


@pytest.mark.parametrize("saved_on, loaded_on", [(4, 1), (1, 4), (4, 3)])
def test_ranks_that_own_little_or_nothing(group, shared_dir, saved_on, loaded_on):
    def save(members):
        trainer = make_trainer(members, sizes=(2, 1))
        fill_with_pattern(trainer)
        save_sharded(shared_dir / "checkpoint", trainer)
        return whole_state(trainer)

    def load(members):
        trainer = make_trainer(members, sizes=(2, 1))
        load_sharded(shared_dir / "checkpoint", trainer)
        return whole_state(trainer)

    expected = on_first(group, saved_on, save)
    with checks("condition"):
        assert on_first(group, loaded_on, load) == expected


def test_double_precision_state_behind_f4_parameters(group, shared_dir):
    trainer = make_trainer(group, dtype="f4")
    train(trainer, 3)
    save_sharded(shared_dir / "checkpoint", trainer)
    loaded = make_trainer(group, dtype="f4")
    load_sharded(shared_dir / "checkpoint", loaded)
    with checks("shape-layout-dtype"):
        assert loaded.optimizer.master.dtype == "f8"
        assert all(slot.dtype == "f8" for slot in loaded.optimizer.slots.values())
        assert all(parameter.dtype == "f4" for parameter in loaded.model.parameters.values())
        assert own_state(loaded) == own_state(trainer)


def test_continuation_in_the_middle_of_an_epoch(group, shared_dir):
    trainer = make_trainer(group)
    train(trainer, 7)
    save_sharded(shared_dir / "checkpoint", trainer)
    losses = train(trainer, 5)
    upcoming = [trainer.stream.next_batch() for _ in range(10)]

    def resume(members):
        loaded = make_trainer(members)
        load_sharded(shared_dir / "checkpoint", loaded)
        return train(loaded, 5), [loaded.stream.next_batch() for _ in range(10)]

    got_losses, got_upcoming = on_first(group, 2, resume)
    with checks("state-lifecycle"):
        assert got_upcoming == upcoming
        assert got_losses == pytest.approx(losses, rel=1e-9)


def test_saving_does_not_disturb_training(group, shared_dir):
    undisturbed, trainer = make_trainer(group), make_trainer(group)
    expected = train(undisturbed, 6)
    got = train(trainer, 3)
    save_sharded(shared_dir / "checkpoint", trainer)
    got += train(trainer, 3)
    with checks("value"):
        assert got == expected
        assert own_state(trainer) == own_state(undisturbed)


def test_an_interrupted_save_leaves_the_earlier_checkpoint(group, shared_dir, request):
    with init_group(name=request.node.nodeid + "/doomed", timeout_s=2.0) as doomed:
        trainer = make_trainer(doomed)
        train(trainer, 2)
        save_sharded(shared_dir / "checkpoint", trainer)
        expected = own_state(trainer)
        train(trainer, 2)
        if group.rank == 3:
            doomed.close()
        else:
            with pytest.raises(CommError):
                save_sharded(shared_dir / "checkpoint", trainer)
        group.barrier()
    loaded = make_trainer(group)
    load_sharded(shared_dir / "checkpoint", loaded)
    with checks("state-lifecycle"):
        assert own_state(loaded) == expected


def test_a_save_that_never_finished_is_no_checkpoint(group, shared_dir, request):
    with init_group(name=request.node.nodeid + "/doomed", timeout_s=1.0) as doomed:
        trainer = make_trainer(doomed)
        if group.rank == 3:
            doomed.close()
        else:
            with pytest.raises(CommError):
                save_sharded(shared_dir / "checkpoint", trainer)
        group.barrier()
    with checks("state-lifecycle"):
        assert not (shared_dir / "checkpoint" / "index.json").exists()
        with pytest.raises(CheckpointError):
            load_sharded(shared_dir / "checkpoint", make_trainer(group))


def test_damage_that_one_rank_sees_stops_every_rank(group, shared_dir):
    directory = shared_dir / "checkpoint"
    trainer = make_trainer(group)
    train(trainer, 2)
    save_sharded(directory, trainer)
    if group.rank == 0:
        for path in directory.iterdir():
            if path.name != "index.json":
                os.truncate(path, path.stat().st_size - 8)
                break
    group.barrier()
    other = make_trainer(group)
    train(other, 1)
    before = own_state(other)
    error = None
    try:
        load_sharded(directory, other)
    except CheckpointError as caught:
        error = caught
    except CommError as caught:
        error = caught
    with checks("state-lifecycle"):
        assert isinstance(error, CheckpointError), f"expected CheckpointError on every rank, got {error!r}"
        assert own_state(other) == before


BIG = (200, 399, 100)  # 120 199 elements: 2.75 MiB of optimizer state under Adam, 470 KiB of f4 parameters


def peak_growth(work):
    """Peak memory of `work()` over what was in use before it, in bytes."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_no_rank_holds_the_whole_state(group, shared_dir):
    members = group.subgroup([0, 1])
    saving = loading = 0
    if members is not None:
        trainer = make_trainer(members, sizes=BIG, dtype="f4")
        saving = peak_growth(lambda: save_sharded(shared_dir / "checkpoint", trainer))
    group.barrier()
    loaded = make_trainer(group, sizes=BIG, dtype="f4")
    loading = peak_growth(lambda: load_sharded(shared_dir / "checkpoint", loaded))
    optimizer = loaded.optimizer
    shard = optimizer.master.nbytes * (1 + len(optimizer.slots))
    parameters = sum(parameter.nbytes for parameter in loaded.model.parameters.values())
    group.barrier()
    with checks("resource.memory"):
        check_resource("peak_memory_save", value=saving, limit=256 * KIB, unit="bytes", repeats=1)
        check_resource(
            "peak_memory_load", value=loading, limit=shard + 2 * parameters + 256 * KIB, unit="bytes", repeats=1
        )


def test_state_moves_through_files_not_between_ranks(group, shared_dir, monkeypatch):
    sent = 0
    original = socket.socket.send

    def counting(self, data, *flags):
        nonlocal sent
        count = original(self, data, *flags)
        sent += count
        return count

    trainer = make_trainer(group, sizes=BIG, dtype="f4")
    monkeypatch.setattr(socket.socket, "send", counting)
    save_sharded(shared_dir / "checkpoint", trainer)
    saving, sent = sent, 0
    group.barrier()
    members = group.subgroup([0, 1, 2])
    loading, limit = 0, 16 * KIB
    if members is not None:
        loaded = make_trainer(members, sizes=BIG, dtype="f4")
        sent = 0
        load_sharded(shared_dir / "checkpoint", loaded)
        loading = sent
        limit += (members.world_size - 1) * 4 * loaded.layout.shard_size(members.world_size)
    group.barrier()
    with checks("resource.traffic"):
        check_resource("bytes_sent_save", value=saving, limit=16 * KIB, unit="bytes", repeats=1)
        check_resource("bytes_sent_load", value=loading, limit=limit, unit="bytes", repeats=1)
