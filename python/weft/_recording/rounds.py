# SPDX-License-Identifier: Apache-2.0
"""Which call ends a training step."""

from __future__ import annotations

from collections import Counter
from typing import Counter as CounterOf
from typing import Optional

_ROUNDS_TO_LEARN = 2
_PATIENCE = 3


class Rounds:
    """A job may train with several things in turn: an optimizer for each part of the model or for
    each parameter, a compiled function for gradients and one for the update.

    A round lasts from one call of the thing that was called first to its next. The thing that ended
    the second round ends every step from then on; until then it is the first one that does. So a
    single optimizer ends a step with each call, whatever was accumulated before; of several that
    are called in turn, the last does. One that is no longer called (another was called three times
    in a row without it, and more often in all) loses its office, and learning begins anew.
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
        """To be asked once a call; `thing` is any number that names it. The number of the step that
        ends here, counted from 0, or None."""
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
        """The first one was called again: a round is over."""
        self._rounds += 1
        if self._rounds == _ROUNDS_TO_LEARN:
            self._marker = self._latest
            return self._marker == self._leader
        self._latest = self._leader
        return True
