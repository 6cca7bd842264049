# SPDX-License-Identifier: Apache-2.0
"""Finds out which of a job's calls end a training step.

A job may train with several callables in turn: an optimizer for each part of the model or for each
parameter, or one compiled function for gradients and another for the update. Only one call per step
may count as the end of the step.
"""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import Optional

_ROUNDS_TO_LEARN = 2
_PATIENCE = 3


class Rounds:
    """Learns which callable (the marker) ends a step.

    The leader is the callable that is called first. A round lasts from one call of the leader to
    its next call. During the first two rounds each call of the leader ends a step. The callable
    that was called last in the second round then becomes the marker, and each of its calls ends a
    step. So a single optimizer ends a step with each call, even if gradients were accumulated
    before; of several optimizers that are called in turn, the last one ends the step.

    Learning starts again if the marker is no longer used: another callable was called three times
    since the marker's last call, and was called more often than the marker in total.
    """

    def __init__(self) -> None:
        self._calls: CounterOf[int] = Counter()
        self._start(None)

    def _start(self, leader: Optional[int]) -> None:
        self._leader = leader
        self._latest = leader
        self._rounds = 0
        self._marker: Optional[int] = None
        self._others: CounterOf[int] = Counter()

    def ended_step(self, thing: int) -> Optional[int]:
        """Report a call of `thing`, a number that identifies the callable. Returns the number of
        the step that ends with this call, counted from 0, or None if no step ends."""
        self._calls[thing] += 1
        if self._leader is None:
            self._start(thing)
        elif thing == (self._leader if self._marker is None else self._marker):
            self._others.clear()
            if self._marker is None and not self._leader_ends():
                return None
        else:
            self._latest = thing
            self._others[thing] += 1
            official = self._leader if self._marker is None else self._marker
            if self._others[thing] < _PATIENCE or self._calls[thing] <= self._calls[official]:
                return None
            self._start(thing)
        return self._calls[thing] - 1

    def _leader_ends(self) -> bool:
        """The leader was called again, so a round is over.
        Returns whether this call ends a step."""
        self._rounds += 1
        if self._rounds == _ROUNDS_TO_LEARN:
            self._marker = self._latest
            return self._marker == self._leader
        self._latest = self._leader
        return True
