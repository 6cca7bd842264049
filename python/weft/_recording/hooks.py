# SPDX-License-Identifier: Apache-2.0
"""Puts Weft into a process: waits for a framework to be imported, then lets its hook in."""

from __future__ import annotations

import atexit
import importlib
import importlib.abc
import importlib.util
import os
import signal
import sys
import threading
from types import FrameType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import files, process
from .settings import Settings, from_environment
from .window import Window

FRAMEWORKS = ("torch", "tensorflow", "jax", "mxnet")
"""The module to wait for, and the folder of Weft with its hook."""


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds nothing itself: lets the others find, and has `done` called behind the import."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asking = threading.local()

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Any:
        if name not in FRAMEWORKS or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking.now = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        run = spec.loader.exec_module

        def run_and_tell(module: ModuleType) -> None:
            self._session.importing(name)
            run(module)
            self._session.imported(name)

        # On the loader itself rather than around it: some packages ask for its type.
        spec.loader.exec_module = run_and_tell  # type: ignore[method-assign]
        return spec


class Session:
    """All that Weft does in one process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._windows: List[Window] = []
        self._imported: List[str] = []
        self._problems: List[str] = []
        self._finishers: List[Callable[[], None]] = []

    def importing(self, name: str) -> None:
        """Some processes never come back from the import: they serve others in it."""
        self._imported.append(name)
        try:
            before = getattr(self._hook(name), "before_import", None)
            finish = before(self._settings) if before is not None else None
            if finish is not None:
                self._finishers.append(finish)
        except Exception as error:
            self._refuse(name, error)

    def imported(self, name: str) -> None:
        try:
            self.add(self._hook(name).install(self._settings))
        except Exception as error:
            self._refuse(name, error)

    @staticmethod
    def _hook(name: str) -> Any:
        package = __name__.partition(".")[0]
        return importlib.import_module(f"{package}.{name}.record")

    def _refuse(self, name: str, error: Exception) -> None:
        self._problems.append(f"{name}: {error!r}")
        process.warn(f"{name} will not be recorded: {error!r}")

    def add(self, window: Window) -> None:
        self._windows.append(window)
        window.on_first_step(self._catch_sigterm)
        # Forked ranks of multiprocessing leave without atexit.
        from multiprocessing import util

        util.register_after_fork(
            self, lambda session: util.Finalize(session, session.finish, exitpriority=0)
        )

    def finish(self) -> None:
        for window in self._windows:
            window.finish()
        served, self._finishers = self._finishers, []
        for finish in served:
            try:
                finish()
            except Exception as error:
                process.warn(f"what this process recorded is lost: {error!r}")
        if not served and not any(window.used for window in self._windows):
            self._leave_note()

    def _leave_note(self) -> None:
        """`weft record` tells from notes why nothing was recorded."""
        note: Dict[str, Any] = {
            "program": " ".join(sys.argv[:1]),
            "frameworks": self._imported,
            "problems": self._problems,
        }
        folder = os.path.join(self._settings.folder, ".notes")
        try:
            os.makedirs(folder, exist_ok=True)
            files.write_json(os.path.join(folder, f"{process.unique_stem()}.json"), note)
        except OSError:
            pass  # the folder is gone or full; the job has said what it had to say

    def _catch_sigterm(self) -> None:
        """A rank that is told to end writes what it has, then ends as it would have."""
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGTERM)
        if before is None or before == signal.SIG_IGN:
            return
        owner = os.getpid()

        def end(number: int, frame: Optional[FrameType]) -> None:
            self.finish()
            if callable(before):
                before(number, frame)
                return
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        def handle(number: int, frame: Optional[FrameType]) -> None:
            if os.getpid() != owner:  # a forked child has nothing of ours to write
                signal.signal(number, before)
                os.kill(os.getpid(), number)
            elif not any(w.when_idle(lambda: end(number, None)) for w in self._windows):
                end(number, frame)

        signal.signal(signal.SIGTERM, handle)


def end_with_process(session: Session) -> None:
    atexit.register(session.finish)


def install() -> None:
    settings = from_environment()
    if settings is None:
        return
    session = Session(settings)
    sys.meta_path.insert(0, _AfterImport(session))
    end_with_process(session)
