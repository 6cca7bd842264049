# SPDX-License-Identifier: Apache-2.0
"""What a framework's hook must be able to do. A Window calls it in this order."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from . import process

PathOf = Callable[[str], str]


class Recorder:
    framework = ""

    def version(self) -> str:
        raise NotImplementedError

    def rank(self) -> Tuple[int, int]:
        """Rank and world, as the framework knows them or else the launcher."""
        return process.launched_rank() or (0, 1)

    def stem(self) -> str:
        """What the names of this process's files begin with."""
        return f"r{self.rank()[0]}"

    def prepare(self, path_of: PathOf) -> None:
        """The step before the first one to record begins: whatever takes long to start.
        `path_of(ending)` gives the names of files to write."""
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def begin_step(self, number: int) -> None:
        raise NotImplementedError

    def end_step(self) -> None:
        raise NotImplementedError

    def cut_step(self) -> None:
        """What was marked is no whole step, say because the job ends in it: it must not look like one."""
        raise NotImplementedError

    def unfinished(self) -> Optional[int]:
        """The step that has ended without the window having been told so, if there is one; asked
        when the process ends."""
        return None

    def stop(self) -> List[str]:
        """Ends the recording and returns the files it wrote."""
        raise NotImplementedError

    def facts(self) -> Dict[str, Any]:
        """What r<rank>.job.json shall say besides what every framework knows."""
        return {}

    def abandon(self) -> None:
        """Ends without a file, from whatever state."""
        raise NotImplementedError
