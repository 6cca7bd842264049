# SPDX-License-Identifier: Apache-2.0
"""Installs the recording hook of a framework as soon as the job imports that framework."""

from __future__ import annotations

import atexit
import functools
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
"""Names of the modules to wait for. weft/<name>/record.py holds the hook of each."""


class _AfterImport(importlib.abc.MetaPathFinder):
    """An import finder that finds no modules itself. When a framework is imported, it asks the
    other finders for the framework's loader. It then patches the loader, so that the session learns
    when the import begins and ends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asking = threading.local()

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Any:
        # find_spec() below asks all finders, this one included: `now` breaks the recursion.
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

        # Patch the loader instead of wrapping it in another object: some packages check its type.
        spec.loader.exec_module = run_and_tell  # type: ignore[method-assign]
        return spec


class Session:
    """Everything that Weft does in one process: it keeps a window for each framework, writes notes,
    and writes the recording when the process ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._windows: List[Window] = []
        self._imported: List[str] = []
        self._problems: List[str] = []
        self._finishers: List[Callable[[], None]] = []

    def importing(self, name: str) -> None:
        """Called before a framework is imported.

        A server process of MXNet never returns from the import. So MXNet's hook has a function
        before_import(), which acts here. It returns a function to call when the process ends.
        """
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
        process.warn(f"Weft cannot record {name}: {error!r}")

    def add(self, window: Window) -> None:
        self._windows.append(window)
        window.on_first_step(self._catch_sigterm)
        # A process that multiprocessing has forked does not run atexit handlers, but it runs
        # Finalize.
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
                process.warn(f"the recording of this process is lost: {error!r}")
        if not served and not any(window.used for window in self._windows):
            self._leave_note()

    def _leave_note(self) -> None:
        """Write a note from which `weft record` can explain why this process recorded nothing."""
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
            pass  # the folder is gone or full; the note only improves an error message

    def _catch_sigterm(self) -> None:
        """On SIGTERM, write what was recorded so far, then end as the process would have ended."""
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
            if os.getpid() != owner:  # a forked child: the recording belongs to its parent
                signal.signal(number, before)
                os.kill(os.getpid(), number)
            # A window that is busy, for example because it is writing its files right now, must not
            # be interrupted. when_idle() then returns True and registers a callback: the window
            # calls end() as soon as it is done.
            elif not any(w.when_idle(lambda: end(number, None)) for w in self._windows):
                end(number, frame)

        signal.signal(signal.SIGTERM, handle)


def end_with_process(session: Session) -> None:
    """Write the recording when the process ends.

    An exception ends a process in two phases: the interpreter prints the exception, then handlers of
    atexit and the frameworks tear the process down, which closes its connections to other ranks.
    Those then fail, too. Writing takes some time. After the tear-down, the process would outlive the
    ranks that failed because of it, and the launcher would name one of them as the root cause. So
    in this case, the recording is written before the tear-down.
    """
    atexit.register(session.finish)
    report = sys.excepthook

    @functools.wraps(report)
    def report_and_finish(kind: Any, error: Any, trace: Any) -> None:
        report(kind, error, trace)
        session.finish()

    sys.excepthook = report_and_finish


def install() -> None:
    settings = from_environment()
    if settings is None:
        return
    session = Session(settings)
    sys.meta_path.insert(0, _AfterImport(session))
    end_with_process(session)
