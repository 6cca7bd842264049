# SPDX-License-Identifier: Apache-2.0
"""Facts about this process, such as its rank, and its warnings on stderr."""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Optional, Tuple

_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("HOROVOD_RANK", "HOROVOD_SIZE"),
)


def launched_rank() -> Optional[Tuple[int, int]]:
    """Rank and world size from the environment variables of the launcher; None if no launcher has
    set them. If the launcher has set the rank only, the world size is -1."""
    for rank, world in _RANKS:
        try:
            return int(os.environ[rank]), int(os.environ.get(world, "-1"))
        except (KeyError, ValueError):
            continue
    return None


def host() -> str:
    return socket.gethostname()


def unique_stem() -> str:
    """A prefix for file names that no other process of the job uses."""
    return f"{host()}-{os.getpid()}"


def warn(text: str) -> None:
    try:
        sys.stderr.write(f"weft: warning: {text}\n")
        sys.stderr.flush()
    except Exception:
        pass  # the job may have closed stderr; a warning must not end it


def let_threads_finish() -> None:
    """Wait a moment before a profiler is stopped.

    A profiler drops events that have not ended when it stops. A worker thread signals that its work
    is done before it records the end of the event. The wait gives such threads time to record it.
    """
    time.sleep(0.03)
