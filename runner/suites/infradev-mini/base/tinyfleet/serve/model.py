"""A language model small enough to run in plain Python, with the data flow of a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class TinyModel:
    """Deterministic toy model.

    The row of a token depends on the token, its position and the row before it, and so on the whole prefix, like the
    keys and values of a transformer's upper layers. The next token reads every row of the context. Equal contexts
    give bit-equal rows on every rank, whatever the paging.
    """

    def __init__(self, vocab_size: int = 997, width: int = 16, weights_seed: int = 0) -> None:
        self.vocab_size = vocab_size
        self.width = width
        self.weights_seed = weights_seed

    def row(self, token: int, position: int, previous: Sequence[float] | None) -> list[float]:
        """Return the row (width doubles in [0, 1)) of one token; `previous` is the row before it, None at position 0."""
        row = []
        for column in range(self.width):
            embedding = (token * 40503 + position * 30011 + column * 7919 + self.weights_seed * 104729) % 65521 / 65521
            carried = previous[column] if previous is not None else 0.0
            row.append((embedding + 0.5 * carried) % 1.0)
        return row

    def next_token(self, read_row: Callable[[int], Sequence[float]], length: int, seed: int) -> int:
        """Return the token that follows a context of `length` rows, read by `read_row(position)`.

        `seed` selects the sample: different seeds continue the same context differently.
        """
        attended = 0.0
        for position in range(length):
            row = read_row(position)
            attended = (attended * 0.75 + row[position % self.width] + row[-1]) % 1.0
        return (int(attended * 1e9) + seed * 389) % self.vocab_size
