"""A small strided tensor over flat `array.array` storage.

Views share storage with the tensor they were taken from, as in NumPy or PyTorch; element order is row-major.
Supported dtypes: `f4` (IEEE single), `f8` (IEEE double), `i8` (signed 64-bit integer).
"""

from __future__ import annotations

from array import array
from itertools import product
from math import prod
from operator import index as as_index
from typing import Any, Callable, Iterable, Sequence

TYPECODES = {"f4": "f", "f8": "d", "i8": "q"}
ITEMSIZES = {"f4": 4, "f8": 8, "i8": 8}
_DTYPES = {code: dtype for dtype, code in TYPECODES.items()}


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous row-major tensor of `shape`."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _typecode(dtype: str) -> str:
    try:
        return TYPECODES[dtype]
    except KeyError:
        raise ValueError(f"unknown dtype {dtype!r}: use one of {', '.join(TYPECODES)}") from None


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    dims = (shape,) if isinstance(shape, int) else tuple(as_index(size) for size in shape)
    if any(size < 0 for size in dims):
        raise ValueError(f"shape {dims} has a negative size")
    return dims


class Tensor:
    """A view of `shape` into flat `storage`, starting at element `offset`, with `strides` in elements."""

    __slots__ = ("storage", "shape", "strides", "offset")

    def __init__(
        self,
        storage: array,
        shape: int | Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> None:
        """Wrap `storage` without copying it; `shape` defaults to one dimension over all of it.

        Raises ValueError if the storage's type code is not a supported dtype or the view would leave the storage.
        """
        if storage.typecode not in _DTYPES:
            raise ValueError(f"storage has type code {storage.typecode!r}: use one of {', '.join(_DTYPES)}")
        self.storage = storage
        self.shape = (len(storage),) if shape is None else _as_shape(shape)
        self.strides = row_major_strides(self.shape) if strides is None else tuple(strides)
        self.offset = offset
        if self.numel:
            low = offset + sum(min(0, (n - 1) * s) for n, s in zip(self.shape, self.strides))
            high = offset + sum(max(0, (n - 1) * s) for n, s in zip(self.shape, self.strides))
            if low < 0 or high >= len(storage):
                raise ValueError(
                    f"a view of shape {self.shape}, strides {self.strides}, offset {offset} "
                    f"leaves a storage of {len(storage)} elements"
                )

    # -- construction ---------------------------------------------------------------------------------------------

    @classmethod
    def zeros(cls, shape: int | Sequence[int], dtype: str = "f8") -> Tensor:
        """A new contiguous tensor of zeros."""
        return cls.full(shape, 0, dtype)

    @classmethod
    def full(cls, shape: int | Sequence[int], value: float, dtype: str = "f8") -> Tensor:
        """A new contiguous tensor with every element set to `value`."""
        dims = _as_shape(shape)
        return cls(array(_typecode(dtype), [value]) * prod(dims), dims)

    @classmethod
    def of(cls, values: Any, dtype: str = "f8") -> Tensor:
        """A new contiguous tensor from a number, a flat iterable or nested lists of equal lengths."""
        if not isinstance(values, (list, tuple)) and isinstance(values, Iterable):
            values = list(values)
        shape: list[int] = []
        level = values
        while isinstance(level, (list, tuple)):
            shape.append(len(level))
            level = level[0] if level else None
        flat = values if isinstance(values, (list, tuple)) else [values]
        for depth in range(1, len(shape)):
            if any(not isinstance(row, (list, tuple)) or len(row) != shape[depth] for row in flat):
                raise ValueError(f"nested lists are ragged at depth {depth}: every row needs {shape[depth]} items")
            flat = [item for row in flat for item in row]
        return cls(array(_typecode(dtype), flat), shape)

    # -- properties -----------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        """`f4`, `f8` or `i8`."""
        return _DTYPES[self.storage.typecode]

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.storage.itemsize

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the view's elements (not of the storage behind it)."""
        return self.numel * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another in row-major order."""
        expected = row_major_strides(self.shape)
        return all(n == 1 or s == e for n, s, e in zip(self.shape, self.strides, expected)) or self.numel == 0

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no len()")
        return self.shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self.elements(), self.shape)

    def __repr__(self) -> str:
        values = repr(self.tolist()) if self.numel <= 16 else f"{self.numel} elements"
        return f"Tensor({values}, shape={self.shape}, dtype={self.dtype})"

    # -- views ----------------------------------------------------------------------------------------------------

    def _select(self, key: Any) -> Tensor:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for a tensor of {self.ndim} dimensions")
        shape, strides, offset = [], [], self.offset
        for dim, item in enumerate(keys):
            size, stride = self.shape[dim], self.strides[dim]
            if isinstance(item, slice):
                start, stop, step = item.indices(size)
                count = len(range(start, stop, step))
                shape.append(count)
                strides.append(stride * step)
                offset += start * stride if count else 0
            else:
                position = as_index(item)
                if not -size <= position < size:
                    raise IndexError(f"index {position} is out of range for dimension {dim} of size {size}")
                offset += (position % size) * stride
        shape.extend(self.shape[len(keys):])
        strides.extend(self.strides[len(keys):])
        return Tensor(self.storage, shape, strides, offset)

    def __getitem__(self, key: Any) -> Any:
        """A view for slices and partial indices; a Python number where every dimension is indexed."""
        view = self._select(key)
        return view if view.ndim else self.storage[view.offset]

    def __setitem__(self, key: Any, value: Any) -> None:
        view = self._select(key)
        if isinstance(value, Tensor):
            view.copy_(value)
        else:
            view.fill_(value)

    def narrow(self, start: int, length: int) -> Tensor:
        """The view of rows `start .. start + length` of the first dimension; raises IndexError outside of it."""
        if start < 0 or length < 0 or start + length > self.shape[0]:
            raise IndexError(f"rows {start}..{start + length} leave a first dimension of size {self.shape[0]}")
        return self[start:start + length]

    def view(self, *shape: int) -> Tensor:
        """The same elements under another shape, one size may be -1; raises ValueError if a copy were needed."""
        dims = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if dims.count(-1) == 1:
            known = prod(size for size in dims if size != -1)
            if known == 0 or self.numel % known:
                raise ValueError(f"cannot view {self.numel} elements as {dims}")
            dims = tuple(self.numel // known if size == -1 else size for size in dims)
        if prod(dims) != self.numel:
            raise ValueError(f"cannot view shape {self.shape} as {dims}: {self.numel} elements are not {prod(dims)}")
        if not self.is_contiguous:
            raise ValueError("cannot view a tensor that is not contiguous: call contiguous() first")
        return Tensor(self.storage, dims, None, self.offset)

    def flatten(self) -> Tensor:
        """The one-dimensional view of a contiguous tensor."""
        return self.view(self.numel)

    def transpose(self) -> Tensor:
        """The view with the order of the dimensions reversed."""
        return Tensor(self.storage, self.shape[::-1], self.strides[::-1], self.offset)

    # -- elements -------------------------------------------------------------------------------------------------

    def _positions(self) -> Iterable[int]:
        if self.is_contiguous:
            return range(self.offset, self.offset + self.numel)
        axes = [range(0, n * s, s) if s else [0] * n for n, s in zip(self.shape, self.strides)]
        return (self.offset + sum(steps) for steps in product(*axes))

    def _values(self) -> Iterable[Any]:
        """The elements in row-major order, without a copy."""
        if self.is_contiguous:
            return memoryview(self.storage)[self.offset:self.offset + self.numel]
        storage = self.storage
        return (storage[i] for i in self._positions())

    def elements(self) -> array:
        """The elements in row-major order, as a new flat array."""
        if self.is_contiguous:
            return self.storage[self.offset:self.offset + self.numel]
        return array(self.storage.typecode, self._values())

    def tolist(self) -> Any:
        """Nested Python lists (a number for a tensor without dimensions)."""
        if not self.shape:
            return self.storage[self.offset]
        if self.ndim == 1:
            return self.elements().tolist()
        return [self._select(i).tolist() for i in range(self.shape[0])]

    def item(self) -> float | int:
        """The only element; raises ValueError if there is not exactly one."""
        if self.numel != 1:
            raise ValueError(f"item() needs exactly one element, this tensor has {self.numel}")
        return self.storage[next(iter(self._positions()))]

    def contiguous(self) -> Tensor:
        """This tensor if it is contiguous, else a contiguous copy."""
        return self if self.is_contiguous else self.clone()

    def clone(self) -> Tensor:
        """A contiguous copy with its own storage."""
        return Tensor(self.elements(), self.shape)

    def to(self, dtype: str) -> Tensor:
        """A contiguous copy converted to `dtype` (i8 truncates towards zero)."""
        if dtype == self.dtype:
            return self.clone()
        code = _typecode(dtype)
        values = self.elements()
        return Tensor(array(code, map(int, values)) if dtype == "i8" else array(code, values), self.shape)

    def raw(self) -> memoryview:
        """The bytes of a contiguous tensor, writable, without a copy (native byte order)."""
        if not self.is_contiguous:
            raise ValueError("raw() needs a contiguous tensor: call contiguous() first")
        start = self.offset * self.itemsize if self.numel else 0
        return memoryview(self.storage).cast("B")[start:start + self.nbytes]

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, shape: int | Sequence[int], dtype: str) -> Tensor:
        """A new tensor from the bytes that `raw()` gives; raises ValueError if their number does not fit."""
        dims = _as_shape(shape)
        storage = array(_typecode(dtype))
        expected = prod(dims) * storage.itemsize
        if len(data) != expected:
            raise ValueError(f"{len(data)} bytes do not make a {dtype} tensor of shape {dims}: {expected} are needed")
        storage.frombytes(data)
        return cls(storage, dims)

    # -- in place -------------------------------------------------------------------------------------------------

    def _write(self, values: Iterable[Any]) -> Tensor:
        storage = self.storage
        if not isinstance(values, array) or values.typecode != storage.typecode:
            values = array(storage.typecode, values)
        if self.is_contiguous and self.numel:
            storage[self.offset:self.offset + self.numel] = values
        else:
            for position, value in zip(self._positions(), values):
                storage[position] = value
        return self

    def _require_same_shape(self, other: Tensor, what: str) -> None:
        if other.shape != self.shape:
            raise ValueError(f"{what}: shape {other.shape} does not match {self.shape}")

    def copy_(self, other: Tensor) -> Tensor:
        """Overwrite the elements with those of `other`, which must have the same shape; converts the dtype."""
        self._require_same_shape(other, "copy_")
        values = other.elements()
        return self._write(map(int, values) if self.dtype == "i8" and other.dtype != "i8" else values)

    def fill_(self, value: float) -> Tensor:
        """Set every element to `value`."""
        return self._write(array(self.storage.typecode, [value]) * self.numel)

    def map_(self, function: Callable[..., float], *others: Tensor) -> Tensor:
        """Set every element to `function(element, *elements of others at the same place)`."""
        for other in others:
            self._require_same_shape(other, "map_")
        return self._write(map(function, self._values(), *(other._values() for other in others)))

    def add_(self, other: Tensor, alpha: float = 1) -> Tensor:
        """Add `alpha * other` in place."""
        if alpha == 1:
            return self.map_(lambda a, b: a + b, other)
        return self.map_(lambda a, b: a + alpha * b, other)

    def mul_(self, factor: float) -> Tensor:
        """Multiply by a number in place."""
        return self.map_(lambda a: a * factor)


def concat(tensors: Sequence[Tensor]) -> Tensor:
    """One new flat tensor of the elements of `tensors`, in order; all need the same dtype."""
    if not tensors:
        raise ValueError("concat needs at least one tensor")
    dtypes = {tensor.dtype for tensor in tensors}
    if len(dtypes) > 1:
        raise ValueError(f"concat needs one dtype, not {', '.join(sorted(dtypes))}")
    storage = array(tensors[0].storage.typecode)
    for tensor in tensors:
        storage.extend(tensor.elements())
    return Tensor(storage)
