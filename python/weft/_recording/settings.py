# SPDX-License-Identifier: Apache-2.0
"""Reads what to record. `weft record` passes these settings to the job in environment variables."""

from __future__ import annotations

import os
from typing import FrozenSet, NamedTuple, Optional, Tuple


class Settings(NamedTuple):
    folder: str
    """The folder into which the recording is written: an absolute path that exists."""
    first: int
    last: int
    """The first and the last step to record, both included. Steps are counted from 0."""
    options: FrozenSet[str]
    """Any of "shapes", "memory" and "stacks"."""
    exclusive: bool
    """True if all recordings in the folder belong to this job. Then no existing recording may be
    overwritten."""


def from_environment() -> Optional[Settings]:
    folder = os.environ.get("WEFT_RECORD")
    if not folder:
        return None
    first, last = parse_steps(os.environ.get("WEFT_RECORD_STEPS", "10..14"))
    options = os.environ.get("WEFT_RECORD_OPTIONS", "shapes")
    return Settings(folder, first, last, frozenset(filter(None, options.split(","))), True)


def parse_steps(text: str) -> Tuple[int, int]:
    first, _, last = text.partition("..")
    return check_steps(int(first), int(last or first))


def check_steps(first: int, last: int) -> Tuple[int, int]:
    # Step 0 cannot be recorded: hooks see only the ends of steps, so nobody knows when step 0
    # begins.
    if not 1 <= first <= last:
        raise ValueError(
            f"steps {first}..{last}: the first step must be at least 1, the last at least the first"
        )
    return first, last
