"""Allocator of fixed-size cache blocks."""

from __future__ import annotations


class OutOfBlocks(RuntimeError):
    """No free block is left; the caller preempts a request or waits."""


class BlockAllocator:
    """Hands out the block ids 0..num_blocks-1 of one rank's cache.

    The block that was freed last is handed out first, so that a block which is still warm is used again.
    """

    def __init__(self, num_blocks: int) -> None:
        if num_blocks < 1:
            raise ValueError(f"num_blocks is {num_blocks}; a cache has at least 1 block")
        self.num_blocks = num_blocks
        self._free = list(range(num_blocks - 1, -1, -1))

    @property
    def num_free(self) -> int:
        """Number of blocks that `allocate` can hand out."""
        return len(self._free)

    @property
    def num_used(self) -> int:
        """Number of blocks that are in use."""
        return self.num_blocks - self.num_free

    def allocate(self) -> int:
        """Take a free block and return its id.

        Raises OutOfBlocks if there is none.
        """
        if not self._free:
            raise OutOfBlocks(f"all {self.num_blocks} blocks are in use")
        return self._free.pop()

    def free(self, block: int) -> None:
        """Give a block back."""
        self._free.append(block)
