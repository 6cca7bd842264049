# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from .comparisons import Comparison
from .diagnoses import Diagnosis
from .replays import Replay
from .reports import Report
from .types import Diagnostic, Lane, MemoryCurve, Step

@final
class Events:
    """What was measured on one rank: read-only columns of equal length, not copied."""

    def __len__(self) -> int: ...
    @property
    def start(self) -> NDArray[np.int64]: ...
    @property
    def duration(self) -> NDArray[np.int64]: ...
    @property
    def name(self) -> NDArray[np.uint32]: ...
    @property
    def lane(self) -> NDArray[np.uint32]: ...
    @property
    def correlation(self) -> NDArray[np.uint32]: ...
    @property
    def external_id(self) -> NDArray[np.int64]: ...
    @property
    def kind(self) -> NDArray[np.uint8]: ...
    @property
    def names(self) -> list[str]: ...

@final
class Rank:
    """The recording of one rank."""

    @property
    def rank(self) -> int: ...
    @property
    def world(self) -> int: ...
    @property
    def file(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def devices(self) -> list[str]: ...
    @property
    def epoch(self) -> int: ...
    @property
    def steps(self) -> list[Step]: ...
    @property
    def lanes(self) -> list[Lane]: ...
    @property
    def events(self) -> Events: ...

@final
class Table:
    """Columns of equal length, of all ranks on one clock."""

    def __len__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    def values(self, column: str) -> NDArray[Any]:
        """The column as it is stored, not copied: numbers, or places in texts(column)."""
    def texts(self, column: str) -> list[str] | None:
        """The different texts of a column; None if it holds numbers."""
    def may_be_missing(self, column: str) -> bool:
        """Whether -1 stands for none in this column."""
    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Columns by name. Numbers are read-only views; texts are arrays of objects."""
    def to_pandas(self) -> Any:
        """A pandas.DataFrame: texts are categories, missing numbers are pandas.NA."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """For pyarrow.table(), polars.DataFrame() and others; nothing is copied."""

@final
class Run:
    """One execution of a job: its ranks, in order."""

    @property
    def label(self) -> str: ...
    @property
    def world(self) -> int: ...
    @property
    def ranks(self) -> list[Rank]: ...
    @property
    def steps(self) -> list[int]: ...
    @property
    def events(self) -> dict[int, Events]: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    def table(self, name: str = "events") -> Table:
        """A table of the job: "events", "collectives" or "steps".

        Times are nanoseconds from the first event, on one clock for all ranks. The first call builds
        the graph, as replay() does.
        """
    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        table: str | None = None,
    ) -> None:
        """Write a timeline or a table, as `weft export` does.

        format: "perfetto-json", "perfetto" or "csv"; without it the extension of the path tells.
        table: for csv, "events" (the default), "collectives" or "steps".
        """
    def memory(self, rank: int | None = None) -> list[MemoryCurve]:
        """Memory over time, one curve a rank and device.

        rank: only of this one. Empty where neither allocations nor shapes were recorded.
        """
    def diagnose(self) -> Diagnosis:
        """Where the step of every rank goes, who is late, and what removing it would give.

        As recorded, profiler and all. Other threads of Python run meanwhile.
        """
    def diff(
        self,
        other: Run | str | os.PathLike[str],
        what_if: str | Iterable[str] | None = None,
        links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    ) -> Comparison:
        """From this run to the other.

        what_if: changes to predict for this run; the other shows what they brought.
        links: measured transfer times for predictions, as paths of link tables.
        """
    def replay(
        self,
        what_if: str | Iterable[str] | None = None,
        links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        steps: int | Iterable[int] | None = None,
    ) -> Replay:
        """Recorded, replayed and predicted steps.

        what_if: changes to predict, all together: "network.bandwidth=2x" or a list of such. Without
        any, those worth knowing are answered as well.
        links: measured transfer times, as paths of link tables.
        steps: learn from these recorded steps only.

        Other threads of Python run meanwhile. The first call builds the graph, later ones share it.
        """
    def report(
        self,
        what_if: str | Iterable[str] | None = None,
        links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    ) -> Report:
        """The page of `weft report`: diagnosis, timeline and what-ifs.

        what_if: changes to show beside those worth knowing, each alone and all together.
        links: measured transfer times, as paths of link tables.
        """
    def _repr_html_(self) -> str | None: ...

def is_plan(path: str) -> bool: ...
def load(paths: Sequence[str], run: str, strict: bool) -> Run: ...
def pack(
    paths: Sequence[str], out: str, run: str, share: int, shares: int
) -> list[str]: ...
def diagnose(run: Run) -> str: ...
def diff(before: Run, after: Run, what_if: Sequence[str], links: Sequence[str]) -> str: ...
def diff_plan(path: str, after: Run, what_if: Sequence[str], links: Sequence[str]) -> str: ...
def replay(
    run: Run, what_if: Sequence[str], links: Sequence[str], steps: Sequence[int]
) -> str: ...
def report(run: Run, what_if: Sequence[str], links: Sequence[str]) -> tuple[str, str]: ...
