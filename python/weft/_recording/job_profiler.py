# SPDX-License-Identifier: Apache-2.0
"""Watches whether the job itself uses the profiler of its framework.

A process has one profiler. If two profiles run at the same time, the second one fails, or the
process crashes. The job's own profile always goes first: Weft ends its recording just before the
job starts a profile, and begins none while the job's profile runs.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional


class JobProfiler:
    """Knows whether a profile of the job runs now, and whether one ran since the last call of
    ran()."""

    def __init__(self) -> None:
        self._runs = False
        self._ran = False
        self._ours: Optional[int] = None  # the thread that is inside ours()
        self._thread: Optional[int] = None  # the thread that started Weft's profile

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Within this block, this thread's calls of the profiler are Weft's own."""
        self._ours = self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._ours = None

    def runs(self) -> bool:
        return self._runs

    def ran(self) -> bool:
        ran, self._ran = self._ran or self._runs, False
        return ran

    def watch_start(self, module: Any, name: str, give_way: Callable[[], None]) -> None:
        """From now on, module.name() starts a profile. If the job calls it, call `give_way`
        first."""

        def before() -> None:
            # A profile can only be stopped on the thread that started it.
            if self._thread in (None, threading.get_ident()):
                give_way()
            self._runs = self._ran = True

        self.wrap(module, name, before=before)

    def watch_stop(self, module: Any, name: str) -> None:
        """From now on, module.name() ends a profile."""

        def after(*_: Any) -> None:
            self._runs = False

        self.wrap(module, name, after=after)

    def wrap(
        self,
        owner: Any,
        name: str,
        before: Optional[Callable[[], None]] = None,
        after: Optional[Callable[..., None]] = None,
    ) -> None:
        """Let the job's calls of owner.name() also call `before` or `after`; `after` gets the
        arguments. Calls of Weft do not. If there is no such function, do nothing, because versions
        of frameworks differ."""
        run = getattr(owner, name, None)
        if run is None:
            return

        @functools.wraps(run)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self._ours == threading.get_ident():
                return run(*args, **kwargs)
            if before is not None:
                before()
            try:
                return run(*args, **kwargs)
            finally:
                if after is not None:
                    after(*args)

        setattr(owner, name, watched)
