"""A small causal transformer whose blocks are split over the ranks of a group.

Between modules activations are ``[length, batch, width]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from torchfleet.dist import Group
from torchfleet.layers import ColumnParallelLinear, RowParallelLinear


@dataclass(frozen=True)
class Config:
    """Sizes of a transformer; ``length`` is the greatest number of positions."""

    vocabulary: int = 64
    width: int = 32
    heads: int = 4
    blocks: int = 2
    length: int = 32
    dtype: torch.dtype = torch.float32


class Weights:
    """Draws full weights on the CPU, the same ones in the same order for one seed, in the configuration's dtype."""

    def __init__(self, config: Config, seed: int) -> None:
        self._dtype = config.dtype
        self._generator = torch.Generator().manual_seed(seed)

    def draw(self, *shape: int, scale: float = 0.05) -> Tensor:
        """Normally distributed numbers of standard deviation ``scale``."""
        return (torch.randn(*shape, generator=self._generator) * scale).to(self._dtype)


class Norm(nn.Module):
    """Layer norm over the last dimension, with the same weights on every rank."""

    def __init__(self, config: Config, weights: Weights, group: Group) -> None:
        super().__init__()
        self.weight = nn.Parameter((1 + weights.draw(config.width)).to(group.device))
        self.bias = nn.Parameter(weights.draw(config.width).to(group.device))

    def forward(self, activation: Tensor) -> Tensor:
        return nn.functional.layer_norm(activation, self.weight.shape, self.weight, self.bias)


class Attention(nn.Module):
    """Causal self-attention; each rank has some of the heads."""

    def __init__(self, config: Config, weights: Weights, group: Group) -> None:
        super().__init__()
        if config.heads % group.world_size:
            raise ValueError(f"{config.heads} heads do not divide by {group.world_size} ranks")
        self.head_width = config.width // config.heads
        # Rows are ordered by head, then query, key and value, so that a part holds whole heads
        self.qkv = ColumnParallelLinear(
            weights.draw(3 * config.width, config.width), weights.draw(3 * config.width), group
        )
        self.out = RowParallelLinear(weights.draw(config.width, config.width), weights.draw(config.width), group)

    def forward(self, activation: Tensor) -> Tensor:
        projected = self.qkv(activation)
        length, batch, _ = projected.shape
        query, key, value = projected.view(length, batch, -1, 3, self.head_width).permute(3, 1, 2, 0, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.permute(2, 0, 1, 3).reshape(length, batch, -1))


class MLP(nn.Module):
    """Two linear layers with GELU between them; each rank has some of the inner features."""

    def __init__(self, config: Config, weights: Weights, group: Group) -> None:
        super().__init__()
        inner = 4 * config.width
        self.up = ColumnParallelLinear(weights.draw(inner, config.width), weights.draw(inner), group)
        self.down = RowParallelLinear(weights.draw(config.width, inner), weights.draw(config.width), group)

    def forward(self, activation: Tensor) -> Tensor:
        return self.down(nn.functional.gelu(self.up(activation)))


class Block(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual."""

    def __init__(self, config: Config, weights: Weights, group: Group) -> None:
        super().__init__()
        self.attention_norm = Norm(config, weights, group)
        self.attention = Attention(config, weights, group)
        self.mlp_norm = Norm(config, weights, group)
        self.mlp = MLP(config, weights, group)

    def forward(self, activation: Tensor) -> Tensor:
        activation = activation + self.attention(self.attention_norm(activation))
        return activation + self.mlp(self.mlp_norm(activation))


class Transformer(nn.Module):
    """Tokens in, logits of the next tokens out. Embeddings, norms and head are whole on every rank of ``group``."""

    def __init__(self, config: Config, group: Group, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.group = group
        weights = Weights(config, seed)
        self.tokens = nn.Parameter(weights.draw(config.vocabulary, config.width).to(group.device))
        self.positions = nn.Parameter(weights.draw(config.length, config.width).to(group.device))
        self.blocks = nn.ModuleList(Block(config, weights, group) for _ in range(config.blocks))
        self.norm = Norm(config, weights, group)
        self.head = nn.Parameter(weights.draw(config.vocabulary, config.width).to(group.device))

    def forward(self, tokens: Tensor) -> Tensor:
        """``[batch, length]`` tokens, the same on every rank, to ``[batch, length, vocabulary]`` logits."""
        activation = self.embed(tokens)
        for block in self.blocks:
            activation = block(activation)
        return self.read_out(activation)

    def embed(self, tokens: Tensor) -> Tensor:
        """``[batch, length]`` tokens to ``[length, batch, width]``. Raises ``ValueError`` above ``config.length``."""
        length = tokens.shape[1]
        if length > self.config.length:
            raise ValueError(f"{length} positions exceed the {self.config.length} of this model")
        return self.tokens[tokens.t()] + self.positions[:length, None]

    def read_out(self, activation: Tensor) -> Tensor:
        """``[length, batch, width]`` to ``[batch, length, vocabulary]`` logits."""
        return nn.functional.linear(self.norm(activation), self.head).transpose(0, 1)

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean cross-entropy of each token after the first, given those before it, in float32 or wider."""
        logits = self(tokens[:, :-1]).flatten(0, 1)
        wide = logits.double() if logits.dtype == torch.float64 else logits.float()
        return nn.functional.cross_entropy(wide, tokens[:, 1:].flatten())
