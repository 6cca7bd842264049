# SPDX-License-Identifier: Apache-2.0
"""What crosses a cut, as both ends must know it before the first byte: learnt in the first step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError

HEADER = 8192  # bytes of the message that tells the receiver


@dataclass(frozen=True)
class Spec:
    """One value. Without rows it is the same on both ends; with rows it has so many a sample."""

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
    """`divided`: the samples lie on several devices on one end or the other."""
    if not isinstance(value, Tensor):
        if divided or not isinstance(value, (int, float, bool, str, type(None))):
            raise UsageError(
                f"{where} is {type(value).__name__}: between replicated stages only tensors pass"
            )
        return Spec(constant=value)
    shape = tuple(value.shape)
    rows = 0
    if divided:
        if not shape or shape[0] % samples:
            raise UsageError(
                f"{where} has shape {shape} for {samples} samples: replicas share out samples, which must be the "
                "first dimension"
            )
        rows = shape[0] // samples
    return Spec(shape, rows, value.dtype, value.requires_grad)


def check(spec: Spec, value: Any, samples: int, where: str) -> None:
    same = (
        tuple(value.shape) == spec.shape_for(samples) if spec.is_tensor else value == spec.constant
    )
    if not same:
        found = tuple(value.shape) if isinstance(value, Tensor) else value
        raise UsageError(
            f"{where} was {spec.shape_for(samples) if spec.is_tensor else spec.constant} in the first step and "
            f"is {found} now: shapes must not change between steps"
        )


def pack(specs: Sequence[Spec], device: torch.device) -> Tensor:
    rows = [
        [s.shape, s.rows, str(s.dtype).removeprefix("torch."), s.gradient]
        if s.is_tensor
        else [s.constant]
        for s in specs
    ]
    text = json.dumps(rows).encode()
    if len(text) > HEADER:
        raise UsageError(
            f"{len(specs)} values cross one cut of the model: too many to tell the next stage of"
        )
    return torch.frombuffer(bytearray(text.ljust(HEADER)), dtype=torch.uint8).to(device)


def unpack(header: Tensor) -> list[Spec]:
    rows = json.loads(bytes(header.cpu().numpy()))
    return [
        Spec(constant=row[0])
        if len(row) == 1
        else Spec(tuple(row[0]), row[1], getattr(torch, row[2]), row[3])
        for row in rows
    ]
