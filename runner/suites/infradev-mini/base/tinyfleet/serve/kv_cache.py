"""Paged key-value cache of one rank.

A row is what the model keeps of one token: `width` doubles. Rows live in blocks of `block_size` rows; a request's
`blocks` list says where its rows are: the row of position p is row p % block_size of block blocks[p // block_size].
(Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", 2023.)
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from .blocks import BlockAllocator


class PagedKVCache:
    """Storage for num_blocks * block_size rows of `width` doubles, and the allocator of its blocks."""

    def __init__(self, num_blocks: int, block_size: int, width: int) -> None:
        if block_size < 1 or width < 1:
            raise ValueError(f"block_size is {block_size} and width is {width}; both are at least 1")
        self.block_size = block_size
        self.width = width
        self.allocator = BlockAllocator(num_blocks)
        self._storage = array("d", bytes(8 * num_blocks * block_size * width))

    @property
    def num_blocks(self) -> int:
        """Number of blocks of the cache, free or not."""
        return self.allocator.num_blocks

    @property
    def num_free(self) -> int:
        """Number of blocks that a request can still get."""
        return self.allocator.num_free

    def blocks_for(self, length: int) -> int:
        """Number of blocks that `length` rows fill, the last one perhaps in part."""
        return -(-length // self.block_size)

    def blocks_missing(self, blocks: Sequence[int], length: int) -> int:
        """Number of blocks that `reserve(blocks, length)` would take."""
        return max(0, self.blocks_for(length) - len(blocks))

    def reserve(self, blocks: list[int], length: int) -> None:
        """Extend `blocks` in place until it has room for `length` rows.

        Raises OutOfBlocks if the allocator runs out.
        """
        for _ in range(self.blocks_missing(blocks, length)):
            blocks.append(self.allocator.allocate())

    def free(self, blocks: Sequence[int]) -> None:
        """Give every block of a request back."""
        for block in blocks:
            self.allocator.free(block)

    def write(self, blocks: Sequence[int], position: int, row: Sequence[float]) -> None:
        """Store the row (width doubles) of one position."""
        if len(row) != self.width:
            raise ValueError(f"row of position {position} has {len(row)} values; the cache's width is {self.width}")
        start = self._offset(blocks, position)
        self._storage[start : start + self.width] = array("d", row)

    def read(self, blocks: Sequence[int], position: int) -> array:
        """Return a copy of the row (width doubles) of one position."""
        start = self._offset(blocks, position)
        return self._storage[start : start + self.width]

    def export_rows(self, blocks: Sequence[int], start: int, stop: int) -> array:
        """Return a flat copy of the rows start..stop-1, (stop - start) * width doubles."""
        rows = array("d")
        for position in range(start, stop):
            rows.extend(self.read(blocks, position))
        return rows

    def import_rows(self, blocks: Sequence[int], start: int, rows: array) -> None:
        """Store a flat array of rows at the positions from `start` on; `blocks` has room for them."""
        for index in range(len(rows) // self.width):
            self.write(blocks, start + index, rows[index * self.width : (index + 1) * self.width])

    def _offset(self, blocks: Sequence[int], position: int) -> int:
        index, slot = divmod(position, self.block_size)
        return (blocks[index] * self.block_size + slot) * self.width
