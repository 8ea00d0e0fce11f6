"""Generation of sequences with a small recurrent policy that is split over the rollout ranks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .dist import Group
from .weights import RolloutWeights, TensorSpec


def policy_specs(vocabulary: int, hidden: int, dtype: torch.dtype = torch.float32) -> list[TensorSpec]:
    """The tensors of the policy: an embedding that the output layer shares, a recurrent layer, and its buffers."""
    return [
        TensorSpec("embedding", (vocabulary, hidden), dtype, split_dim=0),
        TensorSpec("recurrent", (hidden, hidden), dtype, split_dim=1),
        TensorSpec("scale", (hidden,), dtype),
        TensorSpec("head", (vocabulary, hidden), dtype, split_dim=0, tied_to="embedding"),
        TensorSpec("penalty", (vocabulary,), torch.float64, buffer=True),
        TensorSpec("end_token", (), torch.int64, buffer=True),
    ]


class RolloutEngine:
    """Generates greedily for a batch of sequences, together with the other ranks of ``group``.

    The ranks of ``group`` are those that share ``weights``, which has the tensors of ``policy_specs``. All of them call
    the same methods with the same arguments, and get the same tokens.
    """

    def __init__(self, group: Group, weights: RolloutWeights) -> None:
        self.group = group
        self.weights = weights
        self.sequences: list[list[int]] = []
        self._states = torch.empty(0)

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        """Takes up new sequences instead of those that it has. ``ValueError`` for an empty prompt."""
        if not all(prompts):
            raise ValueError("a prompt has one token at least")
        self.sequences = [list(prompt) for prompt in prompts]
        self._states = torch.stack([self._read(prompt) for prompt in prompts])

    def step(self) -> list[int | None]:
        """Adds a token to each sequence; returns them, None for a sequence that has ended with the end token."""
        end = int(self.weights.tensor("end_token"))
        tokens: list[int | None] = []
        for index, token in enumerate(self._logits(self._states).argmax(-1).tolist()):
            if self.sequences[index][-1] == end:
                tokens.append(None)
                continue
            self.sequences[index].append(token)
            self._states[index] = self._advance(self._states[index], token)
            tokens.append(token)
        return tokens

    def _read(self, tokens: Sequence[int]) -> Tensor:
        """The state after a sequence."""
        hidden = self.weights.specs["scale"].shape[0]
        state = torch.zeros(hidden, dtype=self.weights.specs["scale"].dtype, device=self.group.device)
        for token in tokens:
            state = self._advance(state, token)
        return state

    def _advance(self, state: Tensor, token: int) -> Tensor:
        """The state after one more token: each rank adds what its rows and columns contribute."""
        rows, _ = self.weights.block("embedding")
        _, columns = self.weights.block("recurrent")
        added = self.weights.tensor("recurrent") @ state[slice(*columns)]
        if rows[0] <= token < rows[1]:
            added = added + self.weights.tensor("embedding")[token - rows[0]]
        return torch.tanh(self.group.all_reduce(added) * self.weights.tensor("scale"))

    def _logits(self, states: Tensor) -> Tensor:
        """Score of each token by sequence; each rank fills in its rows of the head."""
        rows, _ = self.weights.block("head")
        vocabulary = self.weights.specs["head"].shape[0]
        logits = torch.zeros(len(states), vocabulary, dtype=torch.float64, device=states.device)
        logits[:, slice(*rows)] = (states @ self.weights.tensor("head").T).double()
        return self.group.all_reduce(logits) - self.weights.tensor("penalty")
