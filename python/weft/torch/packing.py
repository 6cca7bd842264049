# SPDX-License-Identifier: Apache-2.0
"""Copies pieces between arrays and messages: HostPacking with Weft's library for host memory,
TorchPacking with torch operations for memory of any device.

A packing belongs to one program and the memory of its buffers. Pieces are numbered as in
ReshardProgram.sends() and receives().
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from .._core import ReshardProgram

Region = tuple[int, int, int, int, list[tuple[int, int]]]
"""Strided memory: buffer, array, offset, bytes of an element,
loops as (extent, stride in bytes)."""


class Packing(Protocol):
    def fill_neutral(self) -> None:
        """In a partial target, some addends receive no data. Fill them with the neutral element of
        the reduction. Call this before the first turn."""

    def move(self, turn: int) -> None:
        """Copy the data that stays on this rank. Call it before any unpack() of the turn."""

    def pack(self, turn: int, piece: int, out: torch.Tensor) -> None:
        """Gather a piece to send into `out`."""

    def unpack(self, turn: int, piece: int, source: torch.Tensor) -> None:
        """Scatter a received piece into its array: store its elements, or
        add them up with those that are there."""


class HostPacking:
    """Uses Weft's library. Works on host memory only."""

    def __init__(self, program: ReshardProgram, buffers: Sequence[torch.Tensor]) -> None:
        self._memory = program.at([buffer.data_ptr() for buffer in buffers])

    def fill_neutral(self) -> None:
        self._memory.fill_neutral()

    def move(self, turn: int) -> None:
        self._memory.move(turn)

    def pack(self, turn: int, piece: int, out: torch.Tensor) -> None:
        self._memory.pack(turn, piece, out.data_ptr())

    def unpack(self, turn: int, piece: int, source: torch.Tensor) -> None:
        self._memory.unpack(turn, piece, source.data_ptr())


# For copies only the size of the elements matters, so each size has one type.
PLAIN = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}

COMBINE: dict[str, Any] = {
    "sum": torch.add, "min": torch.minimum, "max": torch.maximum, "prod": torch.mul,
}  # fmt: skip


def neutral(reduction: str, dtype: torch.dtype) -> float | int | bool:
    if reduction == "sum":
        return 0
    if reduction == "prod":
        return 1
    if dtype == torch.bool:
        return reduction == "min"
    if dtype.is_floating_point:
        return float("inf") if reduction == "min" else float("-inf")
    facts = torch.iinfo(dtype)
    return int(facts.max if reduction == "min" else facts.min)


class TorchPacking:
    """Uses strided copies of torch. Works on memory of any device, on its current stream."""

    def __init__(
        self,
        program: ReshardProgram,
        buffers: Sequence[torch.Tensor],
        dtypes: Sequence[torch.dtype],
        reductions: Sequence[str],
    ) -> None:
        self._program = program
        self._buffers = buffers
        self._dtypes = dtypes
        self._reductions = reductions

    def _view(self, region: Region, dtype: torch.dtype | None = None) -> torch.Tensor:
        buffer, _, offset, element, loops = region
        memory = self._buffers[buffer].view(dtype or PLAIN[element])
        sizes = [extent for extent, _ in loops]
        strides = [stride // element for _, stride in loops]
        start = memory.storage_offset() + offset // element
        return torch.as_strided(memory, sizes, strides, start)

    def _fill(self, region: Region) -> None:
        dtype = self._dtypes[region[1]]
        self._view(region, dtype).fill_(neutral(self._reductions[region[1]], dtype))

    def fill_neutral(self) -> None:
        for region in self._program.neutral_regions():
            self._fill(region)

    def move(self, turn: int) -> None:
        for region in self._program.filled_regions(turn):
            self._fill(region)
        for source, target in self._program.move_regions(turn):
            # Both regions have the same elements in the same order, but their loops may be divided
            # differently. So the source is reshaped.
            there = self._view(target)
            there.copy_(self._view(source).reshape(there.shape))

    def pack(self, turn: int, piece: int, out: torch.Tensor) -> None:
        at = 0
        for region, _ in self._program.send_regions(turn, piece):
            view = self._view(region)
            size = view.numel() * view.element_size()
            out[at : at + size].view(view.dtype).view(view.shape).copy_(view)
            at += size

    def unpack(self, turn: int, piece: int, source: torch.Tensor) -> None:
        at = 0
        for region, add in self._program.receive_regions(turn, piece):
            array = region[1]
            view = self._view(region, self._dtypes[array] if add else None)
            size = view.numel() * view.element_size()
            fresh = source[at : at + size].view(view.dtype).view(view.shape)
            if add:
                COMBINE[self._reductions[array]](view, fresh, out=view)
            else:
                view.copy_(fresh)
            at += size
