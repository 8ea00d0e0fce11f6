"""A language model at the smallest scale: the last two tokens choose the distribution of the next one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from ..tensor import Tensor
from .layout import ParamSpec

PAD_TOKEN = 0


class TinyPolicy:
    """logits = tanh(embed[last] + embed[previous] / 2) @ proj + bias.

    Parameters, by name: `embed` (vocab, hidden), `proj` (hidden, vocab), `bias` (vocab,) and the integer scalar
    `updates`, which counts optimizer steps.  `version` says which weights these are; -1 means none were loaded yet.
    """

    def __init__(self, vocab: int, hidden: int) -> None:
        if vocab < 2 or hidden < 1:
            raise ValueError(f"TinyPolicy: vocab {vocab} and hidden {hidden} must be at least 2 and 1")
        self.vocab = vocab
        self.hidden = hidden
        self.version = -1
        self.params = {spec.name: Tensor.zeros(spec.shape, spec.dtype) for spec in self.specs(vocab, hidden)}

    @staticmethod
    def specs(vocab: int, hidden: int) -> list[ParamSpec]:
        """The parameters of a policy of this size, in a fixed order."""
        return [
            ParamSpec("embed", (vocab, hidden)),
            ParamSpec("proj", (hidden, vocab)),
            ParamSpec("bias", (vocab,)),
            ParamSpec("updates", (), "i8"),
        ]

    @staticmethod
    def initial_values(vocab: int, hidden: int, seed: int) -> dict[str, Tensor]:
        """Flat starting values of every parameter in its master dtype; the same on every rank for one seed."""
        values = {}
        for spec in TinyPolicy.specs(vocab, hidden):
            rng = random.Random(f"{seed}/init/{spec.name}")
            if spec.name in ("embed", "proj"):
                flat = [rng.gauss(0.0, 1.0) for _ in range(spec.numel)]
            else:
                flat = [0] * spec.numel
            values[spec.name] = Tensor.of(flat, spec.master_dtype)
        return values

    def load(self, values: dict[str, Tensor], version: int) -> None:
        """Overwrite every parameter with flat `values` (any dtype) and take `version`.

        ValueError, with nothing changed, if a parameter is missing or has another number of elements.
        """
        for name, param in self.params.items():
            if name not in values or values[name].numel != param.numel:
                got = f"{values[name].numel} elements" if name in values else "nothing"
                raise ValueError(f"TinyPolicy.load: {name!r} needs {param.numel} elements, got {got}")
        for name, param in self.params.items():
            param.copy_(values[name].view(param.shape))
        self.version = version

    def _hidden_state(self, prompt: Sequence[int], tokens: Sequence[int]) -> tuple[int, int, list[float]]:
        last = tokens[-1] if tokens else prompt[-1]
        if len(tokens) > 1:
            previous = tokens[-2]
        else:
            tail = [*prompt, *tokens][-2:]
            previous = tail[0] if len(tail) > 1 else PAD_TOKEN
        embed = self.params["embed"]
        pairs = zip(embed[last].elements(), embed[previous].elements())
        return last, previous, [math.tanh(a + 0.5 * b) for a, b in pairs]

    def logits(self, prompt: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """Unnormalised log-probabilities, one for each token of the vocabulary, after `prompt` and `tokens`."""
        _, _, hidden = self._hidden_state(prompt, tokens)
        logits = self.params["bias"].elements().tolist()
        for unit, row in zip(hidden, range(self.hidden)):
            logits = [x + unit * weight for x, weight in zip(logits, self.params["proj"][row].elements())]
        return logits

    def accumulate_gradient(
        self, prompt: Sequence[int], tokens: Sequence[int], weight: float, gradient: dict[str, Tensor]
    ) -> None:
        """Add the gradient of -weight * log p(tokens | prompt) to the flat f8 tensors `embed`, `proj` and `bias`."""
        embed_grad = gradient["embed"].view(self.vocab, self.hidden)
        proj_grad = gradient["proj"].view(self.hidden, self.vocab)
        for position, token in enumerate(tokens):
            last, previous, hidden = self._hidden_state(prompt, tokens[:position])
            logits = self.logits(prompt, tokens[:position])
            highest = max(logits)
            exps = [math.exp(x - highest) for x in logits]
            total = sum(exps)
            error = [weight * (e / total - (1.0 if index == token else 0.0)) for index, e in enumerate(exps)]
            gradient["bias"].map_(float.__add__, Tensor.of(error))
            for row in range(self.hidden):
                weights = self.params["proj"][row].elements()
                upstream = sum(e * w for e, w in zip(error, weights)) * (1.0 - hidden[row] ** 2)
                proj_grad[row].add_(Tensor.of(error), alpha=hidden[row])
                embed_grad[last, row] += upstream
                embed_grad[previous, row] += 0.5 * upstream
