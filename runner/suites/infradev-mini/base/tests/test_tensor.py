"""Tensors on one rank."""

import pickle
from array import array

import pytest

from tinyfleet.tensor import Tensor, concat


def test_of_nested_lists_keeps_shape_and_order():
    t = Tensor.of([[1, 2, 3], [4, 5, 6]], "f4")
    assert (t.shape, t.strides, t.dtype, t.nbytes) == ((2, 3), (3, 1), "f4", 24)
    assert t.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_slices_share_storage():
    t = Tensor.zeros((3, 4))
    t[1][2:] = 7
    t[2, 0] = 5
    assert t.tolist() == [[0, 0, 0, 0], [0, 0, 7, 7], [5, 0, 0, 0]]


def test_column_view_is_strided_and_writable():
    t = Tensor.of([[1, 2], [3, 4], [5, 6]])
    column = t[:, 1]
    assert not column.is_contiguous
    column.mul_(10)
    assert t.tolist() == [[1, 20], [3, 40], [5, 60]]
    assert column.contiguous().tolist() == [20, 40, 60]


def test_negative_step_and_index():
    t = Tensor.of([0, 1, 2, 3, 4], "i8")
    assert t[::-2].tolist() == [4, 2, 0]
    assert t[-1] == 4


def test_transpose_matches_elements():
    t = Tensor.of([[1, 2, 3], [4, 5, 6]], "i8")
    assert t.transpose().tolist() == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(ValueError, match="contiguous"):
        t.transpose().view(6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_bytes_round_trip(dtype):
    t = Tensor.of([[1, -2], [3, 4]], dtype)
    back = Tensor.from_bytes(bytes(t.raw()), t.shape, dtype)
    assert back.tolist() == t.tolist() and back.dtype == dtype


def test_from_bytes_names_the_mismatch():
    with pytest.raises(ValueError, match="8 bytes do not make a f8 tensor of shape \\(2,\\): 16"):
        Tensor.from_bytes(bytes(8), 2, "f8")


def test_f4_rounds_and_i8_truncates():
    assert Tensor.of([0.1], "f4")[0] != 0.1
    assert Tensor.of([-1.7, 1.7]).to("i8").tolist() == [-1, 1]


def test_copy_needs_the_same_shape():
    with pytest.raises(ValueError, match="shape"):
        Tensor.zeros(3).copy_(Tensor.zeros(4))


def test_empty_tensors():
    t = Tensor.zeros((0, 3))
    assert t.numel == 0 and t.tolist() == [] and t.clone().shape == (0, 3)
    assert t.fill_(1).add_(Tensor.zeros((0, 3))).numel == 0
    assert Tensor.zeros(5)[2:2].raw().nbytes == 0


def test_view_outside_of_storage_is_refused():
    with pytest.raises(ValueError, match="leaves a storage"):
        Tensor(array("d", [0, 0, 0]), (2, 2))


def test_pickle_of_a_view_carries_only_the_view():
    t = Tensor.zeros(1000)
    back = pickle.loads(pickle.dumps(t[3:5]))
    assert back.shape == (2,) and len(back.storage) == 2


def test_concat_keeps_dtype():
    assert concat([Tensor.of([1], "f4"), Tensor.of([[2, 3]], "f4")]).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="one dtype"):
        concat([Tensor.zeros(1, "f4"), Tensor.zeros(1, "f8")])
