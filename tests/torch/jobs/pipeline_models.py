# SPDX-License-Identifier: Apache-2.0
"""Small models for tests of pipelines, and batches for them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 12


class Block(nn.Module):  # type: ignore[misc]
    """A block with a residual connection, as in most models."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 2 * WIDTH)
        self.narrow = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x + self.narrow(functional.gelu(self.wide(self.norm(x))))
        return y


def chain() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, WIDTH), *(Block() for _ in range(6)), nn.Linear(WIDTH, 5))


class Text(nn.Module):  # type: ignore[misc]
    """A model with token ids as input, with positions and a mask that do not depend on the input,
    and with a value that skips all blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(17, WIDTH)
        self.places = nn.Parameter(torch.randn(4, WIDTH))
        self.register_buffer("mask", torch.rand(4, 1))
        self.blocks = nn.ModuleList(Block() for _ in range(6))
        self.head = nn.Linear(WIDTH, 17)

    def forward(self, ids: Tensor, scale: float = 0.5, bias: Tensor | None = None) -> Tensor:
        first = x = self.words(ids) + self.places
        for number, block in enumerate(self.blocks):
            x = block(x) * self.mask if number % 2 else block(x)
        if bias is not None:
            x = x + bias
        logits: Tensor = self.head(x + first * scale)
        return logits.flatten(0, 1)


CHAIN = [str(n) for n in range(8)]
TEXT = ["words", *(f"blocks.{n}" for n in range(6)), "head"]


def batch(samples: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    return torch.randn(samples, 8), torch.randint(5, (samples,))


def words(samples: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(3)
    return torch.randint(17, (samples, 4)), torch.randint(17, (samples * 4,))
