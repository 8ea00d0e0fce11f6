"""Files of named tensors with a description: a JSON header, then the tensors' bytes one after another."""

from __future__ import annotations

import json
import os
import struct
import sys
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Mapping

from ..tensor import ITEMSIZES, Tensor

_MAGIC = b"TFTENSOR"
_LENGTH = struct.Struct("<Q")


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, or does not fit the training that loads it."""


def write(path: Path, meta: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write contiguous `tensors` and `meta` (JSON) to `path`, straight from their storage.

    The file takes its name only when it is complete and on disk: an interrupted write leaves `path` as it was.
    """
    entries, offset = {}, 0
    for name, tensor in tensors.items():
        entries[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "offset": offset}
        offset += tensor.nbytes
    header = json.dumps({"byteorder": sys.byteorder, "meta": meta, "tensors": entries}).encode()
    partial = path.with_name(f"{path.name}.partial")
    with open(partial, "wb") as file:
        file.write(_MAGIC + _LENGTH.pack(len(header)) + header)
        for tensor in tensors.values():
            file.write(tensor.raw())
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _read_header(file: BinaryIO, path: Path) -> dict[str, Any]:
    """The header of an open file, whose position is left at the first tensor's bytes."""
    start = file.read(len(_MAGIC) + _LENGTH.size)
    if len(start) < len(_MAGIC) + _LENGTH.size or not start.startswith(_MAGIC):
        raise CheckpointError(f"{path} is not a tensor file")
    (length,) = _LENGTH.unpack(start[len(_MAGIC):])
    text = file.read(length)
    if len(text) < length:
        raise CheckpointError(f"{path} ends within its header: it was not written to its end")
    try:
        header = json.loads(text)
    except ValueError as error:
        raise CheckpointError(f"{path} has a damaged header: {error}") from error
    if header["byteorder"] != sys.byteorder:
        raise CheckpointError(f"{path} was written on a {header['byteorder']}-endian machine")
    return header


def read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The description and all tensors of a file; raises CheckpointError if it is missing or damaged."""
    try:
        with open(path, "rb") as file:
            header = _read_header(file, path)
            tensors = {}
            for name, entry in header["tensors"].items():
                nbytes = prod(entry["shape"]) * ITEMSIZES[entry["dtype"]]
                data = file.read(nbytes)
                if len(data) < nbytes:
                    raise CheckpointError(f"{path} ends within {name!r}: it was not written to its end")
                tensors[name] = Tensor.from_bytes(data, entry["shape"], entry["dtype"])
            return header["meta"], tensors
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
