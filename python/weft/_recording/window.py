# SPDX-License-Identifier: Apache-2.0
"""Decides which steps of a process are recorded.

A hook reports the end of every step. The window counts and times all steps, and starts and stops
the framework's profiler so that the requested steps are recorded. It has one of these states:

    waiting    until two steps before the first step to record
    warming    the profiler has been prepared, but does not run yet
    recording  the profiler runs; it starts one step before the first step to record
    serving    the profiler runs in a process that takes no steps itself, such as a parameter
               server; it starts and stops when a process that takes steps says so
    done       the files are written, or recording was given up

A process has only one profiler. If the job itself uses it, the window gives way: it ends its
recording, or begins later within the requested steps, or takes a copy of the job's trace.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import files, process
from .probes import Probes
from .recorder import Recorder
from .settings import Settings

SCHEMA_VERSION = 1
_MOST_STEP_TIMES = 10_000
"""The most step times that are kept, so that a job that runs for weeks does not fill the memory."""
_CHOOSE = "use --steps with steps in which the job does not profile itself, or switch its profiler off"


class Window:
    """Tells a Recorder when to record. No exception of the Window or the Recorder ever reaches the
    job."""

    def __init__(self, settings: Settings, recorder: Recorder) -> None:
        self._settings = settings
        self._recorder = recorder
        self._probes = Probes()
        self._on_first_step: List[Callable[[], None]] = []
        self.reset()

    def reset(self) -> None:
        """Return to the initial state. A forked child calls this, because the recording of its
        parent does not belong to the child."""
        self._step = 0
        self._marked: Optional[int] = None  # the current step, if it is marked in the recording
        self._state = "waiting"  # one of the states in the docstring of this file
        self._busy = False
        self._on_idle: Optional[Callable[[], None]] = None
        self._stem = ""
        self._place = (0, 1)  # rank and world size
        self._owner = os.getpid()
        self._recorded: List[int] = []
        self._disturbed: List[int] = []
        self._problems: List[str] = []
        self._files: List[str] = []
        self._facts: Dict[str, Any] = {}
        self._times: List[Optional[float]] = []
        self._resumed: Optional[float] = None
        self._delayed = ""  # the name of the job's own profiler, if recording had to wait for it

    @property
    def framework(self) -> str:
        return self._recorder.framework

    @property
    def used(self) -> bool:
        """Whether this process has completed a step, or has recorded for another process."""
        return self._stem != ""

    def when_idle(self, action: Callable[[], None]) -> bool:
        """If the window is busy, call `action` as soon as it is idle and return true. Otherwise
        return false without calling `action`."""
        if self._busy:
            self._on_idle = action
        return self._busy

    def on_first_step(self, action: Callable[[], None]) -> None:
        self._on_first_step.append(action)

    def step_ended(self, number: int) -> None:
        """Note that step `number` has ended. A hook calls this between two steps, on the thread
        that trains."""
        now = time.perf_counter()
        if os.getpid() != self._owner:
            self.reset()
        if self._busy:
            return
        with self._working():
            self._turn(number, now)
        self._resumed = time.perf_counter()

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        """The window is busy within this block. An exception in it ends the recording."""
        self._busy = True
        try:
            yield
        except Exception as error:
            self._give_up(error)
        finally:
            self._busy = False
            idle, self._on_idle = self._on_idle, None
            if idle is not None:
                idle()

    def give_way(self) -> None:
        """Free the profiler, because the job itself is about to use it. If a complete step has been
        recorded, the recording ends with it. Otherwise it may begin later."""
        if self._busy or os.getpid() != self._owner:
            return
        ended = self._recorder.unfinished()
        if ended is not None:
            self.step_ended(ended)
        if self._state not in ("warming", "recording"):
            return
        with self._working():
            self._delayed = "the framework's profiler"
            marked, self._marked = self._marked, None
            if marked is not None:
                self._recorder.cut_step()
            if self._recorded:
                self._problems.append(
                    f"the job started its own profiler in step {self._step}, so recording ended "
                    f"there; to record more steps, {_CHOOSE}"
                )
                self._close()
                self._disturbed.append(self._step)
            else:
                self._state = "waiting"
                self._probes.record(False)
                self._recorder.abandon()

    def adopt(self, path: str) -> None:
        """Take a copy of a trace that the job itself has recorded, if the job's profiler has kept
        the window from recording."""
        if self._busy or os.getpid() != self._owner or not self._delayed or self._files:
            return
        with self._working():
            files_, steps = self._recorder.adopt(os.fspath(path), self._path_of)
            if not files_:
                return
            self._state = "done"
            self._files = [os.path.basename(file) for file in files_]
            self._recorded = steps
            self._facts = self._recorder.facts()
            self._problems = [
                "the job ran its own profiler, so its trace was copied, with the settings of the "
                f"job; to record with Weft's settings, {_CHOOSE}"
            ]
            self._write_job()

    def open_now(self) -> None:
        """Start recording now, in a process that takes no steps itself, such as a parameter
        server."""
        self._busy = True
        try:
            self._claim()
            self._state = "warming"
            self._recorder.prepare(self._path_of)
            self._probes.record(True)
            self._recorder.start()
            self._state = "serving"
        except Exception as error:
            self._give_up(error)
        finally:
            self._busy = False

    def close_now(self) -> None:
        if self._state != "serving":
            return
        self._busy = True
        try:
            self._close()
        except Exception as error:
            self._give_up(error)
        finally:
            self._busy = False

    def _turn(self, ended: int, now: float) -> None:
        begins = ended + 1
        if len(self._times) < min(begins, _MOST_STEP_TIMES):
            # The first reported step may be later than step 0, because Rounds may skip steps while
            # it learns what ends a step.
            self._times += [None] * (ended - len(self._times))
            resumed = self._resumed
            self._times.append(None if resumed is None else round((now - resumed) * 1e3, 4))
        self._step = begins
        if not self._stem:
            self._claim()
        if self._recorder.disturbed() and len(self._disturbed) < _MOST_STEP_TIMES:
            self._disturbed.append(ended)
        if self._state == "done":
            return
        if self._marked is not None:
            self._end_step(ended)
            if ended >= self._settings.last:
                self._disturbed.append(begins)
                self._close()
                return
        first = self._settings.first
        if self._state == "waiting" and begins >= first - 2 and self._may_begin(begins):
            self._state = "warming"
            self._recorder.prepare(self._path_of)
        # Some ranks start their profilers faster than others, so the step in which the profilers
        # start takes longer. So they start one step early. That step is recorded too, but it is not
        # marked as a step.
        if self._state == "warming" and begins >= first - 1:
            self._probes.record(True)
            self._recorder.start()
            self._state = "recording"
            if self._delayed:  # leave the step in which the profiler starts unmarked
                first = begins + 1
        if self._state == "recording" and begins >= first:
            self._recorder.begin_step(begins)
            self._marked = begins
        elif self._state != "waiting":
            self._disturbed.append(begins)

    def _may_begin(self, begins: int) -> bool:
        """Whether the profiler is free. If the job uses it until the end of the window, recording
        is given up."""
        self._delayed = self._recorder.blocked() or self._delayed
        if self._delayed and begins >= self._settings.last:
            self._state = "done"
            self._problems.append(self._why_blocked())
            self._write_job()
        return self._state == "waiting" and not self._recorder.blocked()

    def _why_blocked(self) -> str:
        first, last = self._settings.first, self._settings.last
        return (
            f"the job itself used {self._delayed} in the steps {first}..{last} that were to be "
            f"recorded, and a process has only one profiler; {_CHOOSE}"
        )

    def _end_step(self, ended: int) -> None:
        marked, self._marked = self._marked, None
        if marked == ended:
            self._recorder.end_step()
            self._recorded.append(ended)
        else:
            self._recorder.cut_step()

    def _claim(self) -> None:
        for action in self._on_first_step:
            action()
        # Ask for the rank now: when the process ends, the job may have destroyed its process group.
        self._place = self._recorder.rank()
        settings = self._settings
        self._hold = files.Claim(settings.folder, self._recorder.stem(), settings.exclusive)
        self._stem = self._hold.stem

    def _path_of(self, ending: str) -> str:
        return os.path.join(self._settings.folder, f"{self._stem}.{ending}")

    def _close(self) -> None:
        self._state = "done"
        if self._delayed and self._recorded and not self._problems:
            self._problems.append(
                f"the job itself used {self._delayed} until shortly before step "
                f"{self._recorded[0]}, so recording began there; to record more steps, {_CHOOSE}"
            )
        self._probes.record(False)
        # Some profilers crash the process when they stop. If this happens, `weft record` finds this
        # note and can name the cause. If the process survives, for example because the disk was
        # full, the note must not stay.
        with contextlib.suppress(OSError):
            self._hold.say(self._recorder.framework)
        try:
            self._files += [os.path.basename(path) for path in self._recorder.stop()]
        finally:
            self._hold.say("")
        self._facts = self._recorder.facts()
        self._write_job()

    def _give_up(self, error: BaseException) -> None:
        was, self._state = self._state, "done"
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        self._problems.append(" ".join(text.split()))
        if len(self._problems) == 1:
            process.warn(f"recording ended, the job goes on: {self._problems[0]}")
        try:
            self._probes.record(False)
            if was in ("warming", "recording", "serving"):
                self._recorder.abandon()
        except Exception:
            pass  # one warning is enough
        try:
            self._write_job()
        except Exception:
            pass

    def finish(self) -> None:
        """Write what was recorded so far. Called when the process ends."""
        if os.getpid() != self._owner or not self._stem or self._busy:
            return
        ended = self._recorder.unfinished()
        if ended is not None:
            self.step_ended(ended)
        self._busy = True
        try:
            if self._marked is not None:
                self._marked = None
                self._recorder.cut_step()
            if self._state == "serving" or (self._recorded and self._state == "recording"):
                self._close()
            elif self._state in ("warming", "recording"):
                self._state = "done"
                self._probes.record(False)
                self._recorder.abandon()
            if self._delayed and not self._recorded and not self._problems:
                self._problems.append(self._why_blocked())
            self._write_job()
        except Exception as error:
            self._give_up(error)
        finally:
            self._busy = False
        # Under `weft record` the claim files stay. From these files, the command finds out which
        # processes wrote nothing.
        if not self._settings.exclusive:
            self._hold.forget()

    def _write_job(self) -> None:
        rank, world = self._place
        job: Dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "kind": "weft job",
            "framework": self._recorder.framework,
            "framework_version": self._recorder.version(),
            "python": platform.python_version(),
            "rank": rank,
            "world": world,
            "host": process.host(),
            "pid": os.getpid(),
            "asked_steps": [self._settings.first, self._settings.last],
            "recorded_steps": self._recorded,
            "steps_seen": self._step,
            "files": self._files,
            "problems": self._problems,
            **self._facts,
            "disturbed_steps": sorted(set(self._disturbed)),
            "step_ms": self._times,
        }
        files.write_json(self._path_of("job.json"), job)
