# SPDX-License-Identifier: Apache-2.0
"""Small values that results are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class EventKind(IntEnum):
    """What Events.kind holds."""

    HOST_OP = 0
    ANNOTATION = 1
    RUNTIME = 2
    KERNEL = 3
    MEMCPY = 4
    MEMSET = 5
    SYNC = 6
    MEMORY = 7
    GPU_ANNOTATION = 8
    OVERHEAD = 9
    PHASE = 10


class Step(NamedTuple):
    """A training step as its host thread marked it; nanoseconds since Rank.epoch."""

    number: int
    start: int
    end: int


class Lane(NamedTuple):
    """A host thread or a device stream."""

    on_device: bool
    pid: int
    tid: int
    """Thread id, or stream number on a device."""
    device: int
    """Ordinal of the device; -1 on the host."""
    name: str


@dataclass(frozen=True)
class Diagnostic:
    """One kind of oddity in the input."""

    id: str
    severity: str
    """'info', 'warning' or 'data loss'."""
    count: int
    what: str
    advice: str
    places: list[str]
    """The first few."""


class MemoryPeak(NamedTuple):
    """The first instant at which a curve is highest."""

    bytes: int
    time: int
    """Nanoseconds since Rank.epoch."""
    step: int | None
    """None outside all marked steps."""
    op: str | None
    """The host op that ran then; None if none did."""


@dataclass(frozen=True, eq=False)
class MemoryCurve:
    """Memory of one device of one rank over time."""

    rank: int
    device: int
    """Ordinal; -1 for host memory."""
    source: str
    """'allocator', 'allocations' (without what was held before the recording) or 'estimated' (a lower
    bound from recorded shapes)."""
    time: NDArray[np.int64] = field(repr=False)
    """Nanoseconds since Rank.epoch, in order. Read-only."""
    bytes: NDArray[np.int64] = field(repr=False)
    """What is allocated from each of these instants on. Read-only."""
    peak: MemoryPeak
