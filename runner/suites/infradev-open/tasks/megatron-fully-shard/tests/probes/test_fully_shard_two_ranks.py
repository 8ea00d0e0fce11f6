"""Requirements of fully_shard, on two ranks; on GPUs where the launch has them."""

import pytest
import torch
from infradev_report import check_resource, checks
from models import batch_of, flat, layered, shard_units, whole
from torch import nn
from torch.distributed.tensor import DTensor

from megatron.core.distributed.fsdp.src.megatron_fsdp.experimental import fully_shard
from megatron.core.distributed.fsdp.src.megatron_fsdp.mixed_precision import MixedPrecisionPolicy

WIDTH = 512
ALLOWANCE_BYTES = 8192


def wide(ranks, dtype=torch.float32, trainable=True):
    model = nn.Linear(WIDTH, WIDTH, bias=False, dtype=dtype).to(ranks.device)
    with torch.no_grad():
        model.weight.fill_(0.01)
    model.weight.requires_grad_(trainable)
    return model


def test_small_updates_are_kept_in_the_main_weights(ranks):
    model = nn.Linear(4, 4, bias=False, dtype=torch.bfloat16).to(ranks.device)
    with torch.no_grad():
        model.weight.fill_(1.0)
    policy = MixedPrecisionPolicy(main_params_dtype=torch.float32, main_grads_dtype=torch.float32)
    fully_shard(model, mesh=ranks.mesh(), placements=flat(), mixed_precision_policy=policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0**-10, foreach=False)
    outputs = []
    for _ in range(8):
        optimizer.zero_grad()
        output = model(torch.ones(1, 4, device=ranks.device, dtype=torch.bfloat16))
        outputs.append(output.detach().float().mean().item())
        output.sum().backward()
        optimizer.step()
    weight = whole(ranks, model.weight)
    with checks("shape-layout-dtype"):
        assert isinstance(model.weight, DTensor)
        assert model.weight.dtype is torch.float32
        assert model.weight.grad.dtype is torch.float32
    # One step is less than bfloat16 can tell from 1.0; eight are not.
    with checks("value"):
        assert torch.equal(weight, torch.full_like(weight, 1.0 - 8 * 2.0**-10))
        assert outputs[0] == 4.0
        assert outputs[-1] < 4.0


def test_without_a_policy_the_main_weights_are_f32(ranks):
    model = nn.Linear(4, 6, bias=True, dtype=torch.bfloat16).to(ranks.device)
    fully_shard(model, mesh=ranks.mesh(), placements=flat())
    model(torch.ones(2, 4, device=ranks.device, dtype=torch.bfloat16)).sum().backward()
    with checks("shape-layout-dtype"):
        for parameter in model.parameters():
            assert parameter.dtype is torch.float32
            assert parameter.grad.dtype is torch.bfloat16
        assert model.weight.shape == (6, 4)
        assert model.weight.grad.shape == (6, 4)


def test_parameters_are_sharded_whenever_the_module_rests(ranks):
    model = shard_units(layered(ranks), ranks)
    seen = []
    model.first.register_forward_hook(lambda module, args, output: seen.append("forward"))
    resting = []

    def note():
        resting.append(all(isinstance(parameter, DTensor) for parameter in model.parameters()))

    note()
    output = model(batch_of(ranks, ranks.rank))
    note()
    output.sum().backward()
    note()
    with torch.no_grad():
        model(batch_of(ranks, ranks.rank))
    note()
    names = [name for name, _ in model.named_parameters()]
    with checks("state-lifecycle"):
        assert resting == [True] * 4
        assert seen == ["forward"] * 2
        assert names == [name for name, _ in layered(ranks).named_parameters()]


def test_a_unit_that_cannot_be_made_leaves_the_module_as_it_was(ranks):
    model = layered(ranks)
    fully_shard(model.first, mesh=ranks.mesh(), placements=flat())
    sharded = type(model.first)
    with checks("state-lifecycle"):
        with pytest.raises(ValueError):
            fully_shard(model.first, mesh=ranks.mesh(), placements=flat())
        assert type(model.first) is sharded
        empty = nn.Sequential(model.first)
        with pytest.raises(ValueError):
            fully_shard(empty, mesh=ranks.mesh(), placements=flat())
        assert type(empty) is nn.Sequential
        fully_shard(model.second, mesh=ranks.mesh(), placements=flat())
        assert isinstance(model.second, nn.Sequential)


def test_gradients_add_up_until_they_are_cleared(ranks):
    model = shard_units(layered(ranks), ranks)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    grads = []
    for clear in (None, None, True, None, False):
        if clear is not None:
            optimizer.zero_grad(set_to_none=clear)
        model(batch_of(ranks, ranks.rank)).sum().backward()
        grads.append(whole(ranks, model.first.weight.grad).clone())
    with checks("state-lifecycle"):
        once, twice, after_none, again, after_zero = grads
        assert once.abs().sum() > 0
        assert torch.allclose(twice, 2 * once)
        assert torch.allclose(after_none, once)
        assert torch.allclose(again, 2 * once)
        assert torch.allclose(after_zero, once)


def test_frozen_and_trained_parameters_share_a_unit(ranks):
    model = layered(ranks)
    model.first.weight.requires_grad_(False)
    reference = layered(ranks)
    shard_units(model, ranks)
    output = model(batch_of(ranks, 0))
    expected = reference(batch_of(ranks, 0))
    output.sum().backward()
    expected.sum().backward()
    bias_grad = whole(ranks, model.first.bias.grad)
    with checks("value"):
        assert torch.allclose(output, expected, atol=1e-6)
        assert torch.allclose(bias_grad, reference.first.bias.grad, atol=1e-6)
    with checks("state-lifecycle"):
        assert model.first.weight.grad is None
        assert not model.first.weight.requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_a_step_gathers_twice_and_reduces_once(ranks, meter, dtype):
    model = wide(ranks, dtype)
    fully_shard(model, mesh=ranks.mesh(), placements=flat())
    x = torch.ones(2, WIDTH, device=ranks.device, dtype=dtype)
    with meter, torch.autograd.set_multithreading_enabled(False):
        model(x).sum().backward()
    # Each gather sends the shard to every other rank, the reduction as much: in the dtype of the module.
    share = WIDTH * WIDTH * torch.empty((), dtype=dtype).element_size() // ranks.world * (ranks.world - 1)
    with checks("resource.traffic"):
        limit = 1.05 * 3 * share + ALLOWANCE_BYTES
        check_resource("bytes_sent", value=meter.sent_bytes, limit=limit, unit="bytes")


def test_what_is_frozen_is_not_reduced(ranks, meter):
    model = wide(ranks, trainable=False)
    fully_shard(model, mesh=ranks.mesh(), placements=flat())
    x = torch.ones(2, WIDTH, device=ranks.device, requires_grad=True)
    with meter, torch.autograd.set_multithreading_enabled(False):
        model(x).sum().backward()
    share = WIDTH * WIDTH * 4 // ranks.world * (ranks.world - 1)
    with checks("resource.traffic"):
        check_resource("bytes_sent", value=meter.sent_bytes, limit=1.05 * 2 * share + ALLOWANCE_BYTES, unit="bytes")
    with checks("value"):
        assert torch.allclose(x.grad, torch.full_like(x, 0.01 * WIDTH))


def test_a_forward_allocates_the_whole_unit_once(ranks, meter):
    model = wide(ranks, torch.bfloat16)
    fully_shard(model, mesh=ranks.mesh(), placements=flat())
    x = torch.ones(2, WIDTH, device=ranks.device, dtype=torch.bfloat16)
    with torch.no_grad():
        model(x)
        with meter:
            model(x)
    # Room for the shard in the dtype of the module; the whole unit lives in storage that the unit keeps and resizes.
    limit = 1.05 * WIDTH * WIDTH * 2 / ranks.world + ALLOWANCE_BYTES
    with checks("resource.memory"):
        check_resource("bytes_allocated", value=meter.allocated_bytes, limit=limit, unit="bytes")


def test_gradients_add_up_in_their_own_precision(ranks):
    model = nn.Linear(1, 4, bias=False, dtype=torch.bfloat16).to(ranks.device)
    policy = MixedPrecisionPolicy(main_grads_dtype=torch.float32)
    fully_shard(model, mesh=ranks.mesh(), placements=flat(), mixed_precision_policy=policy)
    for value in (1.0, 2.0**-9, 2.0**-9):
        model(torch.full((1, 1), value, device=ranks.device, dtype=torch.bfloat16)).sum().backward()
    grad = whole(ranks, model.weight.grad)
    # bfloat16 has no number between 1 and 1 + 2**-7.
    with checks("value"):
        assert torch.equal(grad, torch.full_like(grad, 1 + 2.0**-8))
