# SPDX-License-Identifier: Apache-2.0
"""See how distributed training spends its step, and make it shorter.

>>> import weft
>>> run = weft.load("examples/resnet50-w4")
>>> run.world
4
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import version as _version

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
from .replays import Answer, Breakdown, Clock, RankMemoryPeak, RankReplay, Replay, Stragglers
from .reports import Report
from .types import Diagnostic, EventKind, Lane, MemoryCurve, MemoryPeak, Step

__version__ = _version("weft")

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

    paths: files, folders or globs. Ranks and the size of the job are found in the files.
    run: which run, where the input holds several: its number (from 1) or its label.
    strict: raise BadInput on the first warning or loss of data.

    Other threads of Python run meanwhile, and Ctrl-C ends it.
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
    """Write recordings as small files of Weft's own, one a rank, and return their paths.

    paths: files, folders or globs, as for load().
    out: a folder, which gets r0.weft, r1.weft ...; or, for one rank, a file that ends in .weft.
    run: which run, where the input holds several; without it each gets a folder inside out.
    share: (i, n) packs every n-th rank from the i-th on, for n processes that divide a job.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    index, count = share
    if not 0 <= index < count:
        raise UsageError(f"share {share}: the first number must be from 0 to the second, less 1")
    chosen = "" if run is None else str(run)
    return _core.pack([os.fspath(path) for path in paths], os.fspath(out), chosen, index, count)
