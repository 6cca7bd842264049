# SPDX-License-Identifier: Apache-2.0
"""What to record, as `weft record` tells it through the environment."""

from __future__ import annotations

import os
from typing import FrozenSet, NamedTuple, Optional, Tuple


class Settings(NamedTuple):
    folder: str
    """Absolute; exists."""
    first: int
    last: int
    """Inclusive; steps count from 0."""
    options: FrozenSet[str]
    """Of shapes, memory, stacks."""
    exclusive: bool
    """Whether a recording that is in the folder is one of this very job, and must be kept."""


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
    # Where step 0 begins nobody can tell: hooks see steps end.
    if not 1 <= first <= last:
        raise ValueError(f"steps {first}..{last}: the first must be 1 or more, the last not before it")
    return first, last
