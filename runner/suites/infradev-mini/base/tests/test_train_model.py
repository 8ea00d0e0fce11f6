"""The model, the flat layout and the optimizers' rules on one rank."""

import pytest

from tinyfleet.tensor import Tensor
from tinyfleet.train import MLP, SGD, Adam, FlatLayout


def test_gradients_match_finite_differences():
    model = MLP([3, 4, 2], seed=1)
    inputs, targets = [[0.1, -0.4, 0.7], [0.5, 0.2, -0.9]], [[0.3, -0.1], [0.0, 0.6]]
    model.accumulate_gradients(inputs, targets, 0.5)

    def loss():
        outputs = model.forward(inputs)
        return 0.5 * sum((o - t) ** 2 for out, target in zip(outputs, targets) for o, t in zip(out, target))

    for name, parameter in model.parameters.items():
        flat, gradient = parameter.flatten(), model.gradients[name].flatten()
        for i in range(flat.numel):
            value = flat[i]
            flat[i] = value + 1e-6
            above = loss()
            flat[i] = value - 1e-6
            below = loss()
            flat[i] = value
            assert gradient[i] == pytest.approx((above - below) / 2e-6, abs=1e-7), name


def test_gradients_add_up_until_zeroed():
    model = MLP([2, 2], seed=0, dtype="f4")
    model.accumulate_gradients([[1.0, 0.0]], [[0.0, 0.0]], 1.0)
    once = model.gradients["layers.0.weight"].tolist()
    model.accumulate_gradients([[1.0, 0.0]], [[0.0, 0.0]], 1.0)
    assert model.gradients["layers.0.weight"].tolist() == [[2 * g for g in row] for row in once]
    assert model.accumulate_gradients([], [], 1.0) == 0
    model.zero_gradients()
    assert model.gradients["layers.0.weight"].tolist() == [[0, 0], [0, 0]]


def test_shards_cover_the_flat_space_once():
    layout = FlatLayout({"a": (3, 3), "b": (2,)})
    for world_size in range(1, 15):
        bounds = [layout.shard_bounds(rank, world_size) for rank in range(world_size)]
        assert [i for start, stop in bounds for i in range(start, stop)] == list(range(11))


def test_gather_and_scatter_cross_tensor_borders():
    layout = FlatLayout({"a": (2, 2), "b": (3,)})
    tensors = {"a": Tensor.of([[0, 1], [2, 3]]), "b": Tensor.of([4, 5, 6])}
    assert layout.gather(tensors, 2, 6, Tensor.zeros(4)).tolist() == [2, 3, 4, 5]
    layout.scatter(Tensor.of([30, 40]), 3, tensors)
    assert tensors["a"].tolist() == [[0, 1], [2, 30]] and tensors["b"].tolist() == [40, 5, 6]


def test_sgd_momentum():
    master, slots = Tensor.of([1.0]), {"momentum": Tensor.zeros(1)}
    rule = SGD(lr=0.5, momentum=0.5)
    for step in (1, 2):
        rule.update(master, Tensor.of([1.0]), slots, step)
    assert slots["momentum"].tolist() == [1.5]
    assert master.tolist() == [1.0 - 0.5 - 0.75]


def test_first_adam_step_is_the_learning_rate():
    master, slots = Tensor.of([1.0, 1.0]), {"first": Tensor.zeros(2), "second": Tensor.zeros(2)}
    Adam(lr=0.1).update(master, Tensor.of([3.0, -0.2]), slots, 1)
    assert master.tolist() == pytest.approx([0.9, 1.1], abs=1e-6)
