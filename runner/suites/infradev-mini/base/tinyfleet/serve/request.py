"""A generation request and where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Request:
    """One request on the rank that serves it.

    `blocks` are its cache blocks, in order; the rows of its first `num_computed` tokens are in them.
    """

    request_id: str
    prompt: list[int]
    max_new_tokens: int
    seed: int = 0
    output: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    num_computed: int = 0

    @property
    def tokens(self) -> list[int]:
        """The prompt and what was generated so far."""
        return self.prompt + self.output

    @property
    def length(self) -> int:
        """Number of tokens of prompt and output."""
        return len(self.prompt) + len(self.output)

    @property
    def finished(self) -> bool:
        """Whether all tokens were generated."""
        return len(self.output) >= self.max_new_tokens
