# SPDX-License-Identifier: Apache-2.0
"""The interface that a framework's hook implements. A Window calls the methods in the order in
which this class lists them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from . import process

PathOf = Callable[[str], str]


class Recorder:
    framework = ""

    def version(self) -> str:
        raise NotImplementedError

    def rank(self) -> Tuple[int, int]:
        """Rank and world size from the framework, or from the launcher if it does not know them."""
        return process.launched_rank() or (0, 1)

    def stem(self) -> str:
        """The prefix of the names of this process's files."""
        return f"r{self.rank()[0]}"

    def blocked(self) -> str:
        """The name of the profiler if the job itself uses it now, so that recording must not begin;
        else empty."""
        return ""

    def disturbed(self) -> bool:
        """Whether the job itself used the profiler at any time since the last call."""
        return False

    def prepare(self, path_of: PathOf) -> None:
        """Do everything that takes long before a profiler can start. The window calls this about
        two steps before the first step to record. `path_of(ending)`
        gives the names of files to write."""
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def begin_step(self, number: int) -> None:
        raise NotImplementedError

    def end_step(self) -> None:
        raise NotImplementedError

    def cut_step(self) -> None:
        """Called instead of end_step() if the marked step is not complete, for example because the
        job ends within it. The recording must not show this part of a step as a step."""
        raise NotImplementedError

    def unfinished(self) -> Optional[int]:
        """The number of a step that has ended but has not been reported to the window yet, or None.
        The window calls this when the process ends."""
        return None

    def stop(self) -> List[str]:
        """End the recording and return the paths of the files that it wrote."""
        raise NotImplementedError

    def adopt(self, source: str, path_of: PathOf) -> Tuple[List[str], List[int]]:
        """Copy a trace that the job itself has recorded and written to `source`. Returns the paths
        of the files and the steps that they mark. If the trace marks no steps, nothing is copied
        and both lists are empty."""
        return [], []

    def facts(self) -> Dict[str, Any]:
        """Facts that only this framework knows, to be added to r<rank>.job.json."""
        return {}

    def abandon(self) -> None:
        """End the recording without writing a file. Must work in every state."""
        raise NotImplementedError
