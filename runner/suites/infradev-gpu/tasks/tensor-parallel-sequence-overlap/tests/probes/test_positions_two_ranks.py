"""Requirements on sequence parallelism that ordinary tests leave open. Run on two ranks."""

import gc

import pytest
import torch
from infradev_report import check_resource, checks
from recording import Recording, saved_bytes

from torchfleet.layers import ColumnParallelLinear, RowParallelLinear
from torchfleet.model import Config, Transformer

SIZES = {"width": 16, "heads": 4, "blocks": 2, "length": 16, "vocabulary": 11, "dtype": torch.float64}
KIB = 1024


def pair(group, seed=5, **options):
    """A model with sequence parallelism, and the same model whole on this rank."""
    sizes = {**SIZES, **options}
    split = Transformer(Config(**sizes, sequence_parallel=True), group, seed)
    return split, Transformer(Config(**sizes), group.alone(), seed)


def tokens(group, batch, length, shift=0):
    return (torch.arange(batch * length, device=group.device).view(batch, length) * 3 + shift) % 11


def part_of(group, name, whole, part):
    """This rank's part of a whole parameter's gradient."""
    if whole.shape == part.shape:
        return whole
    dim = next(dim for dim in range(whole.dim()) if whole.shape[dim] != part.shape[dim])
    return whole.chunk(group.world_size, dim)[group.rank]


def wrong_gradients(group, split, whole):
    """Names of parameters whose gradients differ from the whole model's, on any rank."""
    wrong = []
    for name, parameter in split.named_parameters():
        expected = part_of(group, name, whole.get_parameter(name).grad, parameter)
        if not torch.allclose(parameter.grad, expected, rtol=1e-7, atol=1e-12):
            wrong.append(name)
    return sorted({name for names in group.gather_objects(wrong) for name in names})


def column(group, inner, outer, dtype=torch.float64):
    generator = torch.Generator().manual_seed(2)
    weight, bias = torch.randn(outer, inner, generator=generator), torch.randn(outer, generator=generator)
    return ColumnParallelLinear(weight.to(dtype), bias.to(dtype), group, sequence_parallel=True)


def row(group, inner, outer, dtype=torch.float64):
    generator = torch.Generator().manual_seed(3)
    weight, bias = torch.randn(outer, inner, generator=generator), torch.randn(outer, generator=generator)
    return RowParallelLinear(weight.to(dtype), bias.to(dtype), group, sequence_parallel=True)


def test_every_gradient_is_complete(group):
    split, whole = pair(group)
    split.loss(tokens(group, 2, 13)).backward()
    whole.loss(tokens(group, 2, 13)).backward()
    split.finish_gradients()
    with checks("value"):
        assert wrong_gradients(group, split, whole) == []


def test_passes_add_up(group):
    split, whole = pair(group)
    for shift in range(3):
        split.loss(tokens(group, 2, 13, shift)).backward()
        whole.loss(tokens(group, 2, 13, shift)).backward()
    split.finish_gradients()
    with checks("state-lifecycle"):
        assert wrong_gradients(group, split, whole) == []


def test_frozen_parameters_stay_frozen(group):
    split, whole = pair(group)
    for model in (split, whole):
        for name in ("blocks.0.mlp_norm.weight", "blocks.1.attention.out.bias"):
            model.get_parameter(name).requires_grad_(False)
        model.loss(tokens(group, 2, 9)).backward()
    split.finish_gradients()
    frozen = [name for name, parameter in split.named_parameters() if not parameter.requires_grad]
    kept = [name for name in frozen if split.get_parameter(name).grad is None]
    for name in frozen:
        for model in (split, whole):
            model.get_parameter(name).grad = torch.zeros_like(model.get_parameter(name))
    with checks("state-lifecycle"):
        assert kept == frozen
        assert wrong_gradients(group, split, whole) == []


@pytest.mark.parametrize("length", [1, 7, 15])
def test_lengths_that_do_not_divide(group, length):
    split, whole = pair(group)
    own = tokens(group, 3, length + 1)
    with checks("condition"):
        logits = split(own[:, :-1])
        assert logits.shape == (3, length, 11)
        torch.testing.assert_close(logits, whole(own[:, :-1]))
        split.loss(own).backward()
        whole.loss(own).backward()
        split.finish_gradients()
        assert wrong_gradients(group, split, whole) == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_positions_travel_in_their_dtype(group, monkeypatch, dtype):
    first, second = column(group, 16, 8, dtype), row(group, 8, 16, dtype)
    own = torch.ones(6, 2, 16, dtype=dtype, device=group.device).requires_grad_()
    with Recording(monkeypatch) as recording:
        out = second(torch.tanh(first(own)))
        out.sum().backward()
    with checks("shape-layout-dtype"):
        assert recording.dtypes() == {dtype}
        assert (out.dtype, out.shape, own.grad.dtype) == (dtype, (6, 2, 16), dtype)
        assert {parameter.grad.dtype for parameter in first.parameters()} == {dtype}


def test_only_own_positions_are_kept(group, monkeypatch):
    layer = column(group, 64, 32)
    own = torch.ones(128, 4, 64, dtype=torch.float64, device=group.device).requires_grad_()
    with Recording(monkeypatch) as recording:
        saved, out = saved_bytes(lambda: layer(own), layer.parameters())
        gc.collect()
        kept = recording.kept_bytes()
    with checks("resource.memory"):
        assert out.shape == (256, 4, 16)
        check_resource("activation_bytes_kept", value=saved + kept, limit=own.nbytes + KIB, unit="bytes")


def test_transfers_run_beside_products(group, monkeypatch):
    layer = column(group, 32, 16)
    own = torch.ones(16, 2, 32, dtype=torch.float64, device=group.device).requires_grad_()
    out = layer(own)
    with Recording(monkeypatch) as recording:
        out.sum().backward()
    with checks("resource.speed"):
        assert recording.transfers
        exposed = len(recording.exposed())
        check_resource("exposed_transfers", value=exposed, limit=0, unit="transfers")


def test_gradients_are_finished_in_one_collective(group, monkeypatch):
    split, _ = pair(group)
    with Recording(monkeypatch) as recording:
        split.loss(tokens(group, 2, 9)).backward()
        passes = len(recording.transfers)
        split.finish_gradients()
        finishing = len(recording.transfers) - passes
    with checks("resource.traffic"):
        check_resource("collectives_of_a_pass", value=passes, limit=2 * 2 * 5 + 2, unit="calls")
        check_resource("collectives_to_finish", value=finishing, limit=1, unit="calls")
