# SPDX-License-Identifier: Apache-2.0
"""Which rank this process is, and how it speaks."""

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
    """Rank and world, as the launcher put them into the environment; None if it did not."""
    for rank, world in _RANKS:
        try:
            return int(os.environ[rank]), int(os.environ.get(world, "-1"))
        except (KeyError, ValueError):
            continue
    return None


def host() -> str:
    return socket.gethostname()


def unique_stem() -> str:
    """A beginning of file names that no other process has."""
    return f"{host()}-{os.getpid()}"


def warn(text: str) -> None:
    try:
        sys.stderr.write(f"weft: warning: {text}\n")
        sys.stderr.flush()
    except Exception:
        pass  # a job without stderr is no reason to end it


def let_threads_finish() -> None:
    """Waits a moment before a profiler ends.

    A thread that has told others that its work is over may lose the processor to them before it
    writes that down, and what is not over when the profiler ends is not written.
    """
    time.sleep(0.03)
