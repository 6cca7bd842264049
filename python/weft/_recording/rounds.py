# SPDX-License-Identifier: Apache-2.0
"""Which optimizer call ends a training step."""

from __future__ import annotations

from typing import Dict, Optional

_ROUNDS_TO_LEARN = 2
_PATIENCE = 3


class Rounds:
    """A job may have several optimizers: one a part of the model, or one a parameter.

    A round lasts from one call of the optimizer that was called first to its next. The optimizer
    that ended the second round ends every step from then on; until then it is the first one that
    does. So one optimizer ends a step with each call, whatever was accumulated before; of several
    that are called in turn, the last does. An optimizer that is no longer called (others were
    called three times without it) loses its office, and learning begins anew.
    """

    def __init__(self) -> None:
        self._start(None)

    def _start(self, leader: Optional[int]) -> None:
        self._leader = leader
        self._latest = leader
        self._rounds = 0
        self._marker: Optional[int] = None
        self._others: Dict[int, int] = {}

    def ends_step(self, optimizer: int) -> bool:
        """To be asked once a call; `optimizer` is any number that names it."""
        if self._leader is None:
            self._start(optimizer)
            return True
        if self._marker is None:
            return self._learn(optimizer)
        if optimizer == self._marker:
            self._others.clear()
            return True
        self._others[optimizer] = self._others.get(optimizer, 0) + 1
        if self._others[optimizer] < _PATIENCE:
            return False
        self._start(optimizer)
        return True

    def _learn(self, optimizer: int) -> bool:
        if optimizer != self._leader:
            self._latest = optimizer
            return False
        self._rounds += 1
        if self._rounds == _ROUNDS_TO_LEARN:
            self._marker = self._latest
            return self._marker == optimizer
        self._latest = optimizer
        return True
