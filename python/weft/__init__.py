# SPDX-License-Identifier: Apache-2.0
"""Find out where a distributed training step spends its time, and make the step shorter.

>>> import weft
>>> run = weft.load("examples/resnet50-w4")
>>> run.world
4
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ._unbuilt import explained as _explained

try:
    from . import _core
except ImportError as _error:
    raise _explained(_error) from None

from ._core import Events, Rank, Run, Table
from .comparisons import CauseChange, Comparison, OpChange, Side, diff
from .diagnoses import (
    Collective,
    Diagnosis,
    Finding,
    FindingOp,
    Lateness,
    PathPiece,
    PathRank,
    PathSummary,
    RankDiagnosis,
)
from .errors import (
    BadInput,
    Cancelled,
    Infeasible,
    InternalError,
    NotFound,
    PeerFailed,
    Unavailable,
    UsageError,
    WeftError,
)
from .replays import (
    Answer,
    Breakdown,
    Clock,
    RankMemoryPeak,
    RankReplay,
    Replay,
    Stragglers,
    Unprofiled,
)
from .reports import Report
from .types import Diagnostic, EventKind, Lane, MemoryCurve, MemoryPeak, Step

__version__ = _core.__version__

__all__ = [
    "Answer",
    "BadInput",
    "Breakdown",
    "Cancelled",
    "CauseChange",
    "Clock",
    "Collective",
    "Comparison",
    "Diagnosis",
    "Diagnostic",
    "EventKind",
    "Events",
    "Finding",
    "FindingOp",
    "Infeasible",
    "InternalError",
    "Lane",
    "Lateness",
    "MemoryCurve",
    "MemoryPeak",
    "NotFound",
    "OpChange",
    "PathPiece",
    "PathRank",
    "PathSummary",
    "PeerFailed",
    "Rank",
    "RankDiagnosis",
    "RankMemoryPeak",
    "RankReplay",
    "Replay",
    "Report",
    "Run",
    "Side",
    "Step",
    "Stragglers",
    "Table",
    "Unavailable",
    "Unprofiled",
    "UsageError",
    "WeftError",
    "diff",
    "load",
    "pack",
]


def load(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    run: int | str | None = None,
    strict: bool = False,
) -> Run:
    """Read the traces of one run.

    paths: files, folders or globs. The files themselves say which rank they belong to and how many
    ranks the job has.
    run: which run to read if the input holds several: its number (from 1) or its label.
    strict: raise BadInput on the first warning or loss of data.

    Other Python threads run during the call, and Ctrl-C interrupts it.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return _core.load([os.fspath(path) for path in paths], "" if run is None else str(run), strict)


def pack(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    run: int | str | None = None,
    share: tuple[int, int] = (0, 1),
) -> list[str]:
    """Write recordings in Weft's own compact format, one file per rank, and return their paths.

    paths: files, folders or globs, as for load().
    out: a folder, in which r0.weft, r1.weft ... are written; or, for a single rank, the name of a
    file that ends in .weft.
    run: which run to pack if the input holds several; by default each run gets a folder inside out.
    share: (i, n) packs every n-th rank, starting with the i-th. Use it to divide a job among n
    processes.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    index, count = share
    if not 0 <= index < count:
        raise UsageError(
            f"share {share}: the first number must be at least 0 and less than the second"
        )
    chosen = "" if run is None else str(run)
    return _core.pack([os.fspath(path) for path in paths], os.fspath(out), chosen, index, count)
