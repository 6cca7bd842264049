# SPDX-License-Identifier: Apache-2.0
"""Describes the values that cross a cut. The receiver must know their shapes and types before it
can receive them, so in the first step the sender sends a header with this description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError

HEADER = 8192  # bytes of the header


@dataclass(frozen=True)
class Spec:
    """One value that crosses a cut: a tensor (`dtype` is set) or a constant.

    rows: 0 if both ends have the whole tensor. Otherwise the samples are divided among replicas,
    and the first dimension of the tensor has this number of rows per sample.
    gradient: whether the tensor requires a gradient, which then crosses the cut in the other
    direction.
    """

    shape: tuple[int, ...] = ()
    rows: int = 0
    dtype: torch.dtype | None = None
    gradient: bool = False
    constant: Any = None

    @property
    def is_tensor(self) -> bool:
        return self.dtype is not None

    def shape_for(self, samples: int) -> tuple[int, ...]:
        return (samples * self.rows, *self.shape[1:]) if self.rows else self.shape


def spec_of(value: Any, samples: int, divided: bool, where: str) -> Spec:
    """The Spec of a value. `divided`: at least one of the two stages is replicated, so the samples
    are divided among devices. `where`: the value's place in the pipeline, for messages."""
    if not isinstance(value, Tensor):
        if divided or not isinstance(value, (int, float, bool, str, type(None))):
            raise UsageError(
                f"{where} is of type {type(value).__name__}: only tensors can pass between stages, "
                "and plain constants if neither stage is replicated"
            )
        return Spec(constant=value)
    shape = tuple(value.shape)
    rows = 0
    if divided:
        if not shape or shape[0] % samples:
            raise UsageError(
                f"{where} has shape {shape} for {samples} samples: replicas divide the samples, so "
                "samples must be the first dimension"
            )
        rows = shape[0] // samples
    return Spec(shape, rows, value.dtype, value.requires_grad)


def check(spec: Spec, value: Any, samples: int, where: str) -> None:
    """Check that a value still has the shape, or is the constant, of the first step."""
    same = (
        tuple(value.shape) == spec.shape_for(samples) if spec.is_tensor else value == spec.constant
    )
    if not same:
        first = spec.shape_for(samples) if spec.is_tensor else spec.constant
        found = tuple(value.shape) if isinstance(value, Tensor) else value
        raise UsageError(
            f"{where} was {first} in the first step but is {found} now: shapes must not change "
            "between steps"
        )


def pack(specs: Sequence[Spec], device: torch.device) -> Tensor:
    """The header for these values, as a tensor of HEADER bytes."""
    rows = [
        [s.shape, s.rows, str(s.dtype).removeprefix("torch."), s.gradient]
        if s.is_tensor
        else [s.constant]
        for s in specs
    ]
    text = json.dumps(rows).encode()
    if len(text) > HEADER:
        raise UsageError(
            f"{len(specs)} values cross one cut of the model, and their description does not fit "
            f"into {HEADER} bytes: cut the model where fewer values cross"
        )
    return torch.frombuffer(bytearray(text.ljust(HEADER)), dtype=torch.uint8).to(device)


def unpack(header: Tensor) -> list[Spec]:
    """The values that a header describes."""
    rows = json.loads(bytes(header.cpu().numpy()))
    return [
        Spec(constant=row[0])
        if len(row) == 1
        else Spec(tuple(row[0]), row[1], getattr(torch, row[2]), row[3])
        for row in rows
    ]
