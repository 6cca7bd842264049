# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Iterable, Mapping, Sequence
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

@final
class ReshardEnd:
    """How an array is distributed, or shall be."""

    @staticmethod
    def mesh(
        axes: Sequence[tuple[str, int]],
        devices: Sequence[int],
        dims: Sequence[Sequence[str]],
        partial: Sequence[str] = (),
    ) -> ReshardEnd:
        """Over a mesh with named axes, most significant first.

        devices: in row-major order; empty: 0, 1, 2 ...
        dims: the axes (or sub-axes, "x:(2)4") that cut each dimension, most significant first. An axis
        that cuts none means equal copies.
        partial: axes along which summands lie.
        """
    @staticmethod
    def parts(parts: Mapping[int, Sequence[Sequence[Sequence[tuple[int, int]]]]]) -> ReshardEnd:
        """By device: its parts, each with the (low, high) of one or more strips of every dimension."""

@final
class ReshardPlan:
    """How to get from one end to the other; see reshard_plan."""

    @property
    def devices(self) -> list[int]:
        """All that have a part in it, sorted."""
    @property
    def steps(self) -> list[tuple[str, int]]:
        """Names, and bytes that the device receives that receives most."""
    @property
    def received(self) -> int:
        """Bytes, added up over the steps."""
    @property
    def peak(self) -> int:
        """Bytes of the largest part on any device at any time."""
    @property
    def time_us(self) -> float: ...

@final
class ReshardProgram:
    """What one device does to carry out plans; see reshard_program.

    Buffers are numbered: 2 i and 2 i + 1 are the source and the target of array i, dense, and the last
    one is staging. In each turn the device sends and receives pieces, in any order of completion but
    started in the order of the lists. Pieces are (device, bytes, buffer, offset); a buffer of -1 means
    that the piece does not lie side by side and goes through pack() or unpack().

    Regions are (buffer, array, offset, bytes of an element, loops), loops are (extent, stride in bytes),
    outermost first: for those who pack by themselves.
    """

    @property
    def buffers(self) -> list[int]:
        """Sizes in bytes."""
    @property
    def fingerprint(self) -> int:
        """The same on all devices that run the same plans, and nowhere else."""
    @property
    def turns(self) -> int: ...
    @property
    def longest_packed(self) -> int:
        """Bytes of the longest piece that has to be packed or unpacked."""
    def sends(self, turn: int) -> list[tuple[int, int, int, int]]: ...
    def receives(self, turn: int) -> list[tuple[int, int, int, int]]: ...
    def neutral_regions(self) -> list[_Region]:
        """Filled with neutral elements before the first turn."""
    def filled_regions(self, turn: int) -> list[_Region]:
        """Likewise, before the turn."""
    def move_regions(self, turn: int) -> list[tuple[_Region, _Region]]:
        """What stays on the device: from, to."""
    def send_regions(self, turn: int, piece: int) -> list[tuple[_Region, bool]]: ...
    def receive_regions(self, turn: int, piece: int) -> list[tuple[_Region, bool]]:
        """What the piece is made of, and whether it is added to what is there."""
    def at(self, addresses: Sequence[int]) -> ReshardMemory:
        """The program on buffers in memory of the host; 0 where one has no bytes."""

@final
class ReshardMemory:
    """A program's buffers. Whoever made it keeps their memory alive.

    Calls free the interpreter for other threads; different pieces may be packed and unpacked at the same
    time, after move().
    """

    def fill_neutral(self) -> None:
        """Before the first turn."""
    def move(self, turn: int) -> None:
        """Before anything of the turn is unpacked."""
    def pack(self, turn: int, piece: int, out: int) -> None:
        """A piece of sends(turn) into memory at `out`."""
    def unpack(self, turn: int, piece: int, source: int) -> None:
        """A piece of receives(turn) from memory at `source`: put in place, or added."""

_Region = tuple[int, int, int, int, list[tuple[int, int]]]

def reshard_plan(
    shape: Sequence[int],
    item_size: int,
    dtype: str,
    source: ReshardEnd,
    target: ReshardEnd,
    rule: str = "ceil_nested",
    reduction: str = "",
    others: Sequence[int] = (),
    node_size: int = 0,
    link: str = "10us,25GB/s",
    message_cost: str = "0us",
    direct: bool = False,
    budget: int = 0,
) -> ReshardPlan:
    """The cheapest plan.

    dtype: "f32", "bf16", "i64", ...; matters only where summands are added up.
    rule: how meshes cut what does not divide: "ceil_nested" (torch), "ceil_flat" (JAX), "balanced".
    reduction: of summands: "sum", "min", "max", "prod" or "avg".
    others: devices without a part in this array, but in others of the same program.
    link, message_cost: as for `weft reshard`.
    budget: bytes beside both ends, 0: no limit. What must rest between steps has to fit.
    """

def reshard_program(
    plans: Sequence[ReshardPlan], device: int, budget: int = 0
) -> ReshardProgram:
    """What the device does to carry out the plans together, which must have the same devices.

    budget: bytes beside both ends; pieces are cut so that two a direction fit. 0: no limit.
    """

def reshard_resting(plans: Sequence[ReshardPlan]) -> int:
    """Bytes that rest beside both ends between steps, on the device that has most."""

def reshard_run_all(
    programs: Sequence[ReshardProgram], addresses: Sequence[Sequence[int]]
) -> int:
    """Runs the programs of all devices, whose memory is in this process.

    addresses: of each device the sources and targets, without staging. Returns the bytes of staging.
    """

@final
class ReshardCopies:
    """Copies on a GPU, or none."""

    def __bool__(self) -> bool:
        """Whether there are any."""
    def run(self, addresses: Sequence[int], stream: int) -> None:
        """Queues them on a stream. addresses: of all buffers of the program, and of the batch's staging."""

@final
class ReshardBatch:
    """Messages that are under way together, and the copies around them; see ReshardKernels.

    Messages are (device, buffer, offset, bytes), the buffer behind those of the program is staging. What
    goes to one device, or comes from it, is in the same order on both ends.
    """

    @property
    def before(self) -> ReshardCopies:
        """What packs, and what moves on the device."""
    @property
    def after(self) -> ReshardCopies:
        """What unpacks and adds."""
    @property
    def sends(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def receives(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def staging(self) -> int:
        """Bytes."""
    @property
    def collective(
        self,
    ) -> tuple[str, int, tuple[int, int, int, int], tuple[int, int, int, int]] | None:
        """Instead of messages: "gather" or "reduce", NCCL's number of the type, from where, and to where."""

@final
class ReshardKernels:
    """libweft-cuda.so: programs whose memory lies on a GPU; see reshard_kernels."""

    def batches(
        self, program: ReshardProgram, turn: int, collectives: bool
    ) -> list[ReshardBatch]:
        """collectives: turns that are an all-gather or a reduce-scatter of all devices are told as such,
        which all devices have to find alike, see reshard_collectives."""
    def neutral(self, program: ReshardProgram) -> ReshardCopies:
        """The rest of the summands of partial targets; without staging of a batch."""

def reshard_kernels(path: str) -> ReshardKernels:
    """Loads the library, for as long as the process lives."""

def reshard_collectives(program: ReshardProgram) -> int:
    """A number that is the same on all devices if they find the same collectives in all turns."""

@final
class ReshardProcess:
    """What the devices of one process do to carry out a plan, among those of other processes.

    Buffers: source and target of its first device, of its second, ...
    """

    def __init__(
        self, plan: ReshardPlan, processes: Sequence[int], process: int, budget: int = 0
    ) -> None:
        """processes: of each device of the plan, numbered without gaps; process: this one."""
    @property
    def buffers(self) -> list[int]:
        """Sizes in bytes."""

@final
class ReshardNeighbours:
    """This process's end of memory that processes of one host share, to exchange what programs send.

    One creates it, the others join; when all have, each connects. After an error it cannot be used
    again. run() frees the interpreter for other threads, and Ctrl-C ends it.
    """

    @staticmethod
    def create(devices: int) -> ReshardNeighbours:
        """Unavailable where the host has no memory to share."""
    @staticmethod
    def join(name: str, devices: int) -> ReshardNeighbours:
        """Unavailable where there is none of that name, as on another host."""
    @property
    def name(self) -> str: ...
    def connect(self, number: int) -> None:
        """number: of this process, which is its device in programs. Nobody can join any more."""
    def run(self, program: ReshardProgram, addresses: Sequence[int], timeout: float) -> int:
        """addresses: of the program's buffers without staging; timeout: seconds in which nothing comes.

        Returns the bytes of staging that were used at most.
        """

@final
class ReshardPeers:
    """This process's end of TCP connections to others, which all run the same at the same time.

    After an error it cannot be used again. Calls free the interpreter for other threads, and Ctrl-C
    ends them.
    """

    def __init__(self, host: str) -> None:
        """Listens at an address of this machine, given in numbers."""
    @property
    def address(self) -> str:
        """What the others need to connect, with a secret in it."""
    def connect(self, number: int, addresses: Sequence[str], timeout: float) -> None:
        """number: of this process; addresses: of all; timeout: seconds. PeerFailed names who is missing."""
    def run(self, process: ReshardProcess, addresses: Sequence[int], timeout: float) -> int:
        """addresses: of the buffers; timeout: seconds that a process may say nothing.

        Returns the bytes of staging that were used at most.
        """
