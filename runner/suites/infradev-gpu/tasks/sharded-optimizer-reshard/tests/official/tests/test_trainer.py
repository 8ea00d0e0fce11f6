"""Training over data-parallel ranks, and its checkpoints. Run on one, two or four ranks."""

import pytest
import torch

from torchfleet.checkpoint import load_checkpoint, save_checkpoint
from torchfleet.data import TokenStream
from torchfleet.layout import FlatLayout
from torchfleet.model import Config, Transformer
from torchfleet.trainer import Trainer

CONFIG = Config(width=16, heads=2, blocks=1, length=8, vocabulary=11)


def make_trainer(group, dtype=torch.float32, **options):
    config = Config(**{**CONFIG.__dict__, "dtype": dtype})
    return Trainer(Transformer(config, group.alone(), seed=2), group, **options)


def test_layout_cuts_and_joins():
    layout = FlatLayout({"a": (2, 3), "b": (), "c": (4,)})
    tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(6.0), "c": torch.arange(7.0, 11.0)}
    assert layout.numel == 11
    assert [layout.shard_bounds(rank, 3) for rank in range(3)] == [(0, 4), (4, 8), (8, 11)]
    assert layout.shard_bounds(7, 8) == (11, 11)
    assert layout.gather(tensors, torch.empty(4), 4).tolist() == [4.0, 5.0, 6.0, 7.0]
    assert layout.gather(tensors, torch.empty(4), 9).tolist() == [9.0, 10.0, 0.0, 0.0]
    layout.scatter(torch.tensor([-1.0, -2.0]), tensors, 5)
    assert tensors["a"][1, 2].item() == -1.0 and tensors["b"].item() == -2.0


def test_stream_is_shared_out_without_gaps():
    whole = TokenStream(31, 6, seed=4).draw(12)
    parts = [TokenStream(31, 6, rank, 3, seed=4) for rank in range(3)]
    drawn = [torch.cat([part.draw(1), part.draw(3)]) for part in parts]
    assert torch.equal(torch.stack(drawn, 1).flatten(0, 1), whole)


def test_many_ranks_train_as_one(group):
    many, one = make_trainer(group), make_trainer(group.alone())
    for _ in range(4):
        assert many.train_step() == pytest.approx(one.train_step(), rel=1e-5)
    for name, parameter in many.model.named_parameters():
        torch.testing.assert_close(parameter, one.model.get_parameter(name), rtol=2e-3, atol=2e-5)


def test_passes_over_parts_are_one_larger_pass(group):
    parts, whole = make_trainer(group, micro_batches=3), make_trainer(group)
    for _ in range(2):
        assert parts.train_step() == pytest.approx(whole.train_step(), rel=1e-5)


def test_split_models_train_over_data_groups(group):
    if group.world_size % 2:
        pytest.skip("needs an even number of ranks")
    pairs = [group.subgroup([rank, rank + 1]) for rank in range(0, group.world_size, 2)]
    columns = [group.subgroup(range(rank, group.world_size, 2)) for rank in range(2)]
    tensor, data = next(filter(None, pairs)), next(filter(None, columns))
    split = Trainer(Transformer(CONFIG, tensor, seed=2), data)
    whole = make_trainer(group.alone())
    for _ in range(3):
        assert split.train_step() == pytest.approx(whole.train_step(), rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_training_learns_and_replicas_agree(group, dtype):
    trainer = make_trainer(group, dtype, lr=2e-2)
    losses = [trainer.train_step() for _ in range(12)]
    assert losses[-1] < losses[0] - 0.3
    sums = group.gather_objects([parameter.double().sum().item() for parameter in trainer.model.parameters()])
    assert sums == [sums[0]] * group.world_size


def test_uneven_batches_are_refused(group):
    with pytest.raises(ValueError, match="do not divide"):
        make_trainer(group, batch_size=4 * group.world_size + 1, micro_batches=2)


def test_checkpoint_continues(group, shared_dir):
    first = make_trainer(group)
    for _ in range(3):
        first.train_step()
    save_checkpoint(shared_dir / "state.pt", first)
    expected = [first.train_step() for _ in range(2)]
    second = make_trainer(group)
    load_checkpoint(shared_dir / "state.pt", second)
    assert [second.train_step() for _ in range(2)] == expected
    assert sorted(entry.name for entry in shared_dir.iterdir()) == ["state.pt"]
