# SPDX-License-Identifier: Apache-2.0
"""Small value types that the results of Weft consist of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class EventKind(IntEnum):
    """The values of Events.kind."""

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
    """A training step as a host thread marked it. Times are nanoseconds since Rank.epoch."""

    number: int
    start: int
    end: int


class Lane(NamedTuple):
    """A host thread or a device stream."""

    on_device: bool
    pid: int
    tid: int
    """Thread id on the host, stream number on a device."""
    device: int
    """Ordinal of the device; -1 for the host."""
    name: str


@dataclass(frozen=True)
class Diagnostic:
    """One kind of problem that Weft noticed in the input, with the number of times it occurred."""

    id: str
    severity: str
    """'info', 'warning' or 'data loss'."""
    count: int
    what: str
    """What Weft saw and what it did about it."""
    advice: str
    """What the user can change."""
    places: list[str]
    """The first few places at which the problem occurred."""


class MemoryPeak(NamedTuple):
    """The maximum of a memory curve. If it occurs several times, this is the first."""

    bytes: int
    time: int
    """Nanoseconds since Rank.epoch."""
    step: int | None
    """None if the peak is outside all marked steps."""
    op: str | None
    """The host op that ran at that time; None if none ran."""


@dataclass(frozen=True, eq=False)
class MemoryCurve:
    """Memory use of one device of one rank over time."""

    rank: int
    device: int
    """Ordinal; -1 for host memory."""
    source: str
    """'allocator'; 'allocations', which leaves out memory that was allocated before the recording;
    or 'estimated', a lower bound computed from recorded shapes."""
    time: NDArray[np.int64] = field(repr=False)
    """Nanoseconds since Rank.epoch, in order. Read-only."""
    bytes: NDArray[np.int64] = field(repr=False)
    """Bytes that are allocated from each time in `time` until the next. Read-only."""
    peak: MemoryPeak
