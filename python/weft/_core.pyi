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

__version__: str

@final
class Events:
    """The events of one rank: columns of equal length, as read-only views without copying."""

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
    """Columns of equal length with data of all ranks; all times are on one clock."""

    def __len__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    def values(self, column: str) -> NDArray[Any]:
        """The column as it is stored, without copying: numbers, or indices into texts(column)."""
    def texts(self, column: str) -> list[str] | None:
        """The distinct texts of a text column; None for a number column."""
    def may_be_missing(self, column: str) -> bool:
        """Whether -1 means "no value" in this column."""
    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Columns by name. Number columns are read-only views; text columns are object arrays."""
    def to_pandas(self) -> Any:
        """A pandas.DataFrame: text columns are categoricals, missing numbers are pandas.NA."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Lets pyarrow.table(), polars.DataFrame() and others read the table without copying."""

@final
class Run:
    """One execution of a job, with the recordings of its ranks in rank order."""

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
        """A table of the run: "events", "collectives" or "steps".

        Times are nanoseconds since the first event, on one clock for all ranks. The first call
        builds the graph, as replay() does.
        """
    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        table: str | None = None,
    ) -> None:
        """Write a timeline or a table, as `weft export` does.

        format: "perfetto-json", "perfetto" or "csv"; by default the extension of the path decides.
        table: which table to write as csv: "events" (the default), "collectives" or "steps".
        """
    def memory(self, rank: int | None = None) -> list[MemoryCurve]:
        """Memory use over time, one curve per rank and device.

        rank: return only the curves of this rank. The list is empty if neither allocations nor
        shapes were recorded.
        """
    def diagnose(self) -> Diagnosis:
        """How every rank spends its step, which ranks are late, and what each fix would gain.

        All times are as recorded, so they include the profiler's overhead. Other Python threads run
        during the call.
        """
    def diff(
        self,
        other: Run | str | os.PathLike[str],
        what_if: str | Iterable[str] | None = None,
        links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    ) -> Comparison:
        """Compare this run with another one.

        what_if: changes to predict for this run; the other run then shows whether the prediction
        was right.
        links: paths of link tables, which hold measured transfer times for the predictions.
        """
    def replay(
        self,
        what_if: str | Iterable[str] | None = None,
        links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        steps: int | Iterable[int] | None = None,
    ) -> Replay:
        """Recorded, replayed and predicted step times.

        what_if: changes to predict, all of them together: "network.bandwidth=2x" or a list of such
        texts. Without any, Weft also answers a few what-ifs of its own choice.
        links: paths of link tables, which hold measured transfer times.
        steps: use only these recorded steps.

        Other Python threads run during the call. The first call builds the graph; later calls reuse
        it.
        """
    def report(
        self,
        what_if: str | Iterable[str] | None = None,
        links: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    ) -> Report:
        """The page of `weft report`: diagnosis, timeline and what-ifs.

        what_if: changes to predict in addition to those that Weft chooses. The page shows each of
        them alone and all of them together.
        links: paths of link tables, which hold measured transfer times.
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
    """One end of a redistribution: how an array is distributed before or after it."""

    @staticmethod
    def mesh(
        axes: Sequence[tuple[str, int]],
        devices: Sequence[int],
        dims: Sequence[Sequence[str]],
        partial: Sequence[str] = (),
    ) -> ReshardEnd:
        """An array that is sharded over a mesh with named axes, most significant axis first.

        devices: the devices of the mesh in row-major order; empty: 0, 1, 2 ...
        dims: for each dimension of the array, the axes (or sub-axes, "x:(2)4") that split it, most
        significant first. Along an axis that splits no dimension, the array is replicated.
        partial: axes along which every device holds an addend; the array is the sum.
        """
    @staticmethod
    def parts(parts: Mapping[int, Sequence[Sequence[Sequence[tuple[int, int]]]]]) -> ReshardEnd:
        """An array whose parts are listed for each device. For every dimension of the array, a part
        has one or more strips (low, high): ranges of indices."""

@final
class ReshardPlan:
    """The steps that redistribute an array from one end to the other; see reshard_plan."""

    @property
    def devices(self) -> list[int]:
        """All devices that take part, sorted."""
    @property
    def steps(self) -> list[tuple[str, int]]:
        """For each step, its name and the most bytes that any device receives in it."""
    @property
    def received(self) -> int:
        """The most bytes that any device receives in a step, added up over all steps."""
    @property
    def peak(self) -> int:
        """Bytes of the largest part that any device holds at any time."""
    @property
    def time_us(self) -> float:
        """Predicted time on the link that the plan was made for."""

@final
class ReshardProgram:
    """What one device does to carry out plans; see reshard_program.

    Buffers are numbered. Buffer 2 i is the source of array i, and buffer 2 i + 1 is its target.
    Both are contiguous. The last buffer is staging memory.

    A program consists of turns. In each turn the device sends pieces and receives pieces. It starts
    them in the order of the lists; they may complete in any order. A piece is (device, bytes,
    buffer, offset). Buffer -1 means that the piece is not contiguous in its array: pack() gathers
    it before it is sent, unpack() scatters it after it is received.

    A region describes strided memory. It is (buffer, array, offset, bytes of an element, loops).
    Each loop is (extent, stride in bytes); the outermost comes first. Only callers that do not use
    pack() and unpack() need regions.
    """

    @property
    def buffers(self) -> list[int]:
        """Sizes of the buffers in bytes."""
    @property
    def fingerprint(self) -> int:
        """A number that devices have in common if and only if they run the same plans."""
    @property
    def turns(self) -> int: ...
    @property
    def longest_packed(self) -> int:
        """Bytes of the longest piece that has to be packed or unpacked."""
    def sends(self, turn: int) -> list[tuple[int, int, int, int]]: ...
    def receives(self, turn: int) -> list[tuple[int, int, int, int]]: ...
    def neutral_regions(self) -> list[_Region]:
        """Regions to fill with the neutral element of the reduction before the first turn."""
    def filled_regions(self, turn: int) -> list[_Region]:
        """Regions to fill with the neutral element of the reduction before this turn."""
    def move_regions(self, turn: int) -> list[tuple[_Region, _Region]]:
        """Copies within the device: (from, to)."""
    def send_regions(self, turn: int, piece: int) -> list[tuple[_Region, bool]]: ...
    def receive_regions(self, turn: int, piece: int) -> list[tuple[_Region, bool]]:
        """The regions of the piece, in order. The flag says whether the region's elements are added
        to what the buffer holds already, or replace it."""
    def at(self, addresses: Sequence[int]) -> ReshardMemory:
        """Bind the program to buffers in host memory. The address of an empty buffer is 0."""

@final
class ReshardMemory:
    """A program bound to its buffers. The caller keeps the memory of the buffers alive.

    Calls release the GIL. After move(), several threads may pack and unpack different pieces at the
    same time.
    """

    def fill_neutral(self) -> None:
        """Fill neutral_regions(). Call it before the first turn."""
    def move(self, turn: int) -> None:
        """Do the copies within the device. Call it before any unpack() of this turn."""
    def pack(self, turn: int, piece: int, out: int) -> None:
        """Gather a piece of sends(turn) into contiguous memory at address `out`."""
    def unpack(self, turn: int, piece: int, source: int) -> None:
        """Scatter a piece of receives(turn) from contiguous memory at address `source` into its
        regions: store or add the elements, as the program says."""

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
    """Find the cheapest plan.

    dtype: "f32", "bf16", "i64", ...; matters only if addends are added up.
    rule: how a mesh splits a dimension that is not evenly divisible: "ceil_nested" (as in torch),
    "ceil_flat" (as in JAX) or "balanced".
    reduction: how addends are combined: "sum", "min", "max", "prod" or "avg".
    others: devices that hold no part of this array, but parts of other arrays of the same program.
    link, message_cost: as for `weft reshard`.
    budget: bytes that a device may use beside its source and target; 0: no limit. The data that a
    plan keeps between its steps must fit into these bytes.
    """

def reshard_program(
    plans: Sequence[ReshardPlan], device: int, budget: int = 0
) -> ReshardProgram:
    """What one device does to carry out all plans together. The plans must have the same devices.

    budget: bytes that the device may use beside its sources and targets; 0: no limit. Pieces are
    split so that two sent and two received ones fit at the same time.
    """

def reshard_resting(plans: Sequence[ReshardPlan]) -> int:
    """Bytes that a device keeps between steps beside its sources and
    targets; the maximum over all devices."""

def reshard_run_all(
    programs: Sequence[ReshardProgram], addresses: Sequence[Sequence[int]]
) -> int:
    """Run the programs of all devices, whose memory is in this process.

    addresses: for each device, the addresses of its sources and targets, without staging memory.
    Returns the bytes of staging memory that were used.
    """

@final
class ReshardCopies:
    """A list of copies on a GPU, which may be empty."""

    def __bool__(self) -> bool:
        """Whether the list has any copy."""
    def run(self, addresses: Sequence[int], stream: int) -> None:
        """Queue the copies on a stream.

        addresses: those of all buffers of the program, then that of the batch's staging memory.
        """

@final
class ReshardBatch:
    """Messages that are in flight at the same time, and the copies before and after them; see
    ReshardKernels.

    A message is (device, buffer, offset, bytes). If the program has n buffers, buffer n is the
    staging memory of the batch. Sender and receiver list the messages between them in the same
    order.
    """

    @property
    def before(self) -> ReshardCopies:
        """Copies before the messages: those that pack, and those within the device."""
    @property
    def after(self) -> ReshardCopies:
        """Copies after the messages: those that unpack, and additions."""
    @property
    def sends(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def receives(self) -> list[tuple[int, int, int, int]]: ...
    @property
    def staging(self) -> int:
        """Bytes of staging memory."""
    @property
    def collective(
        self,
    ) -> tuple[str, int, tuple[int, int, int, int], tuple[int, int, int, int]] | None:
        """A collective to run instead of the messages, or None.

        It is ("gather" or "reduce", NCCL's number of the element type, source, target); source and
        target have the form of messages.
        """

@final
class ReshardKernels:
    """The library libweft-cuda.so, which runs programs on GPU memory; see reshard_kernels."""

    def batches(
        self, program: ReshardProgram, turn: int, collectives: bool
    ) -> list[ReshardBatch]:
        """The batches of one turn.

        collectives: return a turn that is an all-gather or a reduce-scatter of all devices as a
        collective. All devices must agree on this; see reshard_collectives.
        """
    def neutral(self, program: ReshardProgram) -> ReshardCopies:
        """Fill the program's neutral_regions(). run() takes no staging address for these copies."""

def reshard_kernels(path: str) -> ReshardKernels:
    """Load the library. It stays loaded until the process ends."""

def reshard_collectives(program: ReshardProgram) -> int:
    """A number that is equal on all devices if they find the same collectives in all turns."""

@final
class ReshardProcess:
    """What the devices of one process do to carry out a plan together with other processes.

    Buffers: source and target of the process's first device, source and target of its second, ...
    """

    def __init__(
        self, plan: ReshardPlan, processes: Sequence[int], process: int, budget: int = 0
    ) -> None:
        """processes: the process of each device of the plan. Processes are numbered without gaps.
        process: the number of this process."""
    @property
    def buffers(self) -> list[int]:
        """Sizes of the buffers in bytes."""

@final
class ReshardNeighbours:
    """Shared memory through which the processes of one host exchange the pieces of their programs.

    One process creates it and the others join it by name. When all have joined, each calls
    connect(). After an error the object cannot be used again. run() releases the GIL, and Ctrl-C
    interrupts it.
    """

    @staticmethod
    def create(devices: int) -> ReshardNeighbours:
        """Raises Unavailable if the host has no shared memory."""
    @staticmethod
    def join(name: str, devices: int) -> ReshardNeighbours:
        """Raises Unavailable if the host has no shared memory of that name, for example because the
        creator runs on another host."""
    @property
    def name(self) -> str: ...
    def connect(self, number: int) -> None:
        """number: the number of this process, which is its device in programs. After this call no
        other process can join."""
    def run(self, program: ReshardProgram, addresses: Sequence[int], timeout: float) -> int:
        """addresses: those of the program's buffers, without staging memory.
        timeout: seconds without any progress after which the call raises PeerFailed.

        Returns the most bytes of staging memory in use at any time.
        """

@final
class ReshardPeers:
    """TCP connections of this process to other processes. All of them run the same plan at the same
    time.

    After an error the object cannot be used again. Calls release the GIL, and Ctrl-C interrupts
    them.
    """

    def __init__(self, host: str) -> None:
        """Listen at a numeric address of this machine, such as "10.0.0.1"."""
    @property
    def address(self) -> str:
        """What the other processes need to connect. It contains a secret."""
    def connect(self, number: int, addresses: Sequence[str], timeout: float) -> None:
        """Connect to all processes; raises PeerFailed, which names those that are missing.

        number: the number of this process. addresses: those of all processes. timeout: seconds.
        """
    def run(self, process: ReshardProcess, addresses: Sequence[int], timeout: float) -> int:
        """addresses: those of the process's buffers.
        timeout: seconds after which the call raises PeerFailed if a process sends nothing.

        Returns the most bytes of staging memory in use at any time.
        """
