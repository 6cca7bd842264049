# SPDX-License-Identifier: Apache-2.0
"""Starts and stops TensorFlow's profiler, and moves its XPlane file into the recording."""

from __future__ import annotations

from typing import Any, List, Optional

from .._recording import files, process
from .._recording.job_profiler import JobProfiler


class XplaneProfile:
    """Makes one recording of this process with TensorFlow's profiler."""

    def __init__(self, path: str, job: JobProfiler) -> None:
        self._path = path
        self._job = job
        self._scratch: Any = None
        self._mark: Any = None

    def start(self) -> None:
        from tensorflow import profiler

        options = profiler.experimental.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0, device_tracer_level=1
        )
        self._scratch = files.scratch(self._path)
        self._folder = self._scratch.__enter__()
        with self._job.ours():
            profiler.experimental.start(self._folder, options=options)

    def begin_step(self, number: int) -> None:
        from tensorflow import profiler

        self._mark = profiler.experimental.Trace("train", step_num=number, _r=1)
        self._mark.__enter__()

    def end_step(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def drop_step(self) -> None:
        """Drop the mark of the current step: TensorFlow does not write a trace that never ends."""
        self._mark = None

    def stop(self) -> List[str]:
        from tensorflow import profiler

        process.let_threads_finish()
        with self._job.ours():
            profiler.experimental.stop()
        try:
            files.take_xplane(self._folder, self._path)
        finally:
            self._clean()
        return [self._path]

    def abandon(self) -> None:
        from tensorflow import profiler

        if self._scratch is not None:
            with self._job.ours():
                profiler.experimental.stop(save=False)
            self._clean()

    def _clean(self) -> None:
        scratch: Optional[Any] = self._scratch
        self._scratch = None
        if scratch is not None:
            scratch.__exit__(None, None, None)
