# SPDX-License-Identifier: Apache-2.0
"""Small values that results are made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


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
