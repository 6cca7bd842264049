# SPDX-License-Identifier: Apache-2.0
"""The program that every rank runs under `weft calibrate`. It measures how long collectives of each
size take, both as single calls and as calls directly one after the other.

The user's launcher starts this program in the user's Python. It needs torch but no other part of
Weft. A visit is one measurement of one collective at one size. Rank 0 prints one line per visit to
stdout. `weft calibrate` makes the link table from these lines; calibrate/README.md describes the
lines.

All ranks must make the same calls, but their clocks differ. So rank 0 decides what is measured next
and how many calls the visit has. It broadcasts this decision before each visit.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

PROTOCOL = 1
ELEMENT = 4  # bytes of a float32
RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
WORLD_NAMES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
LOCAL_NAMES = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
LOCAL_WORLD_NAMES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")

ALONE_S = 0.03  # time to spend on single calls in one visit
QUEUED_S = 0.05  # time to spend on calls back to back in one visit
GROWTH = 0.6  # share of the total time that the first pass may use to try larger sizes
MOST_PAIRS = 28


def tell(event: str, **facts: Any) -> None:
    """Print one line. It is written with a single write(), so that lines of other processes cannot
    mix with it."""
    line = "weft-calibrate " + json.dumps({"event": event, **facts}) + "\n"
    try:
        os.write(1, line.encode())
    except BrokenPipeError:  # `weft calibrate` has ended
        os._exit(1)


def from_environment(names: Sequence[str]) -> int | None:
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return None


class Failure(Exception):
    """An error that ends the measurement.

    kind: "missing" (this Python lacks something), "usage" or "disagree" (ranks have different
    settings).
    """

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind


def choose_pairs(hosts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of ranks whose links are measured.

    Each host with at least two ranks gives one pair, which consists of its first two ranks. Each
    pair of hosts gives one pair, which consists of the first ranks of the two hosts. If these are
    too many pairs, only one of the pairs within a host is measured, and each host forms a pair only
    with the next host in a ring. So the network link of every host is still measured.
    """
    ranks: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        ranks.setdefault(host, []).append(rank)
    within = [(there[0], there[1]) for there in ranks.values() if len(there) > 1]
    first = [there[0] for there in ranks.values()]
    between = [(a, b) for i, a in enumerate(first) for b in first[i + 1 :]]
    if len(within) + len(between) > MOST_PAIRS:
        within = within[:1]
        between = list(zip(first, first[1:] + first[:1]))
    return within + between


@dataclass
class Table:
    """One curve of the link table. It is measured for one collective between certain ranks, at
    several sizes."""

    collective: str
    members: list[int]
    pair: bool = False  # send_recv between two ranks, back and forth
    sizes: list[int] = field(default_factory=list)
    took: dict[int, float] = field(default_factory=dict)  # seconds per call by size; only on rank 0
    stopped: bool = False  # true if larger sizes would take too long

    def guess(self, size: int) -> float:
        """Estimated seconds of a call of this size: the time of the next smaller known size,
        multiplied by the ratio of the sizes."""
        if size in self.took:
            return self.took[size]
        smaller = [s for s in self.took if s < size]
        return self.took[max(smaller)] * size / max(smaller) if smaller else 0.0


@dataclass
class Visit:
    """One measurement: first `alone` single calls, then `queued` calls back to back."""

    alone: int
    queued: int


def plan_visit(seconds: float) -> Visit:
    """The numbers of calls of a visit if one call takes `seconds`."""
    if seconds <= 0:
        return Visit(3, 5)
    return Visit(
        max(1, min(10, int(ALONE_S / seconds))), max(3, min(50, int(QUEUED_S / seconds)))
    )


class Ranks:
    """This rank's access to torch.distributed, and the functions that time its collectives."""

    def __init__(self, backend: str, sub_groups: Sequence[int]) -> None:
        try:
            import torch
            import torch.distributed as dist
        except ImportError as error:
            what = f"{sys.executable} has no torch ({error}): use a Python that has torch installed"
            raise Failure("missing", what) from error
        self.torch, self.dist = torch, dist
        self.rank, self.world = self._join_environment()
        cuda = bool(torch.cuda.is_available())
        if backend == "auto":
            backend = "nccl" if cuda and dist.is_nccl_available() else "gloo"
        if backend == "nccl" and not cuda:
            what = "the backend nccl needs a GPU that torch can use; choose another --backend"
            raise Failure("missing", what)
        self.backend = backend
        self.on_gpu = backend == "nccl"
        self.device = torch.device("cpu")
        if self.on_gpu:
            local = from_environment(LOCAL_NAMES) or 0
            self.device = torch.device("cuda", local % torch.cuda.device_count())
            torch.cuda.set_device(self.device)
        dist.init_process_group(backend, rank=self.rank, world_size=self.world)
        # NCCL runs two collectives at the same time only if they are on different communicators.
        # With gloo one group is enough, because gloo runs them on two threads.
        self.second = dist.new_group() if self.on_gpu else None
        self.groups: dict[int, Any] = {self.world: None}
        for count in sub_groups:
            if 1 < count < self.world:
                self.groups[count] = dist.new_group(list(range(count)))

    @staticmethod
    def _join_environment() -> tuple[int, int]:
        rank, world = from_environment(RANK_NAMES), from_environment(WORLD_NAMES)
        if rank is None or world is None:
            raise Failure(
                "usage", "neither RANK and WORLD_SIZE nor the variables of MPI or Slurm are set: "
                "use a launcher that starts ranks, for example torchrun --nproc-per-node 4",
            )  # fmt: skip
        if world < 2:
            raise Failure("usage", "there is only one rank, which has no links: start two or more")
        local = from_environment(LOCAL_WORLD_NAMES)
        if "MASTER_ADDR" not in os.environ:
            if local != world:
                raise Failure("usage", "MASTER_ADDR is not set: set it to the host of rank 0")
            os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ.setdefault("MASTER_PORT", "29571")
        return rank, world

    def end(self) -> None:
        self.dist.destroy_process_group()

    def wait(self) -> None:
        """Wait until the GPU has done everything that is queued on it."""
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def ask_all(self, facts: Any) -> list[Any]:
        everybody: list[Any] = [None] * self.world
        self.dist.all_gather_object(everybody, facts)
        return everybody

    def hear_first(self, numbers: list[int]) -> list[int]:
        """Return, on all ranks, the numbers that rank 0 passes. The other ranks must pass a list of
        the same length, but its contents do not matter."""
        values = self.torch.tensor(numbers, dtype=self.torch.int64, device=self.device)
        self.dist.broadcast(values, 0)
        return [int(number) for number in values.tolist()]

    def gather(self, values: list[float]) -> list[list[float]]:
        """The values of every rank. All ranks must pass the same number of values."""
        mine = self.torch.tensor(values, dtype=self.torch.float64, device=self.device)
        everybody = [self.torch.empty_like(mine) for _ in range(self.world)]
        self.dist.all_gather(everybody, mine)
        return [[float(v) for v in one.tolist()] for one in everybody]

    def call(self, table: Table, size: int, copy: int = 0) -> Callable[[bool], Any]:
        """A function that runs the collective once, on arrays that belong to this function. Its
        argument says whether it returns before the collective is done."""
        torch, dist, count = self.torch, self.dist, len(table.members)
        group = self.second if copy == 1 and self.on_gpu else self.groups.get(count)
        x = torch.zeros(size // ELEMENT, device=self.device)
        if table.collective == "all_reduce":
            return lambda queue: dist.all_reduce(x, group=group, async_op=queue)
        if table.collective == "broadcast":
            return lambda queue: dist.broadcast(x, 0, group=group, async_op=queue)
        if table.collective == "all_to_all":
            y = torch.empty_like(x)
            return lambda queue: dist.all_to_all_single(y, x, group=group, async_op=queue)
        part = torch.zeros(size // ELEMENT // count, device=self.device)
        if table.collective == "all_gather":
            gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
            return lambda queue: gather(x, part, group=group, async_op=queue)
        if table.collective == "reduce_scatter":
            scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
            return lambda queue: scatter(part, x, group=group, async_op=queue)
        return self._ring(x)

    def _ring(self, x: Any) -> Callable[[bool], Any]:
        """A function with which every rank sends to the next rank and receives from the previous
        rank at the same time."""
        dist, y = self.dist, self.torch.empty_like(x)
        after, before = (self.rank + 1) % self.world, (self.rank - 1) % self.world

        def ring(_: bool) -> None:
            both = [dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)]
            for work in dist.batch_isend_irecv(both):
                work.wait()

        return ring

    def has(self, table: Table) -> bool:
        """Whether the backend supports the collective. For an unsupported collective, the backend
        raises an error before it sends anything, so no other rank waits for this one."""
        try:
            if not table.pair and self.rank in table.members:
                self.call(table, table.sizes[0])(False)
        except (NotImplementedError, RuntimeError, ValueError) as error:
            if "support" not in str(error) and "implement" not in str(error):
                raise
            return False
        return True

    def time_alone(self, call: Callable[[bool], Any], calls: int, group: Any) -> list[float]:
        took = []
        for _ in range(calls):
            self.dist.barrier(group=group)
            self.wait()
            if self.on_gpu:
                begin = self.torch.cuda.Event(enable_timing=True)
                end = self.torch.cuda.Event(enable_timing=True)
                begin.record()
                call(False)
                end.record()
                self.wait()
                took.append(float(begin.elapsed_time(end)) * 1e3)
            else:
                start = time.perf_counter()
                call(False)
                took.append((time.perf_counter() - start) * 1e6)
        return took

    def time_queued(self, call: Callable[[bool], Any], calls: int, group: Any) -> float:
        self.dist.barrier(group=group)
        self.wait()
        start = time.perf_counter()
        for _ in range(calls):
            call(False)
        self.wait()
        return (time.perf_counter() - start) * 1e6 / calls

    def time_two(self, both: Sequence[Callable[[bool], Any]], calls: int, group: Any) -> float:
        """Microseconds per call if two calls always run at the same time."""
        self.dist.barrier(group=group)
        self.wait()
        running: deque[Any] = deque()
        start = time.perf_counter()
        for i in range(calls):
            if len(running) == 2:
                running.popleft().wait()
            running.append(both[i % 2](True))
        for work in running:
            work.wait()
        self.wait()
        return (time.perf_counter() - start) * 1e6 / calls

    def time_pair(self, table: Table, size: int, visit: Visit) -> list[float]:
        """Measure how long messages between two ranks take.

        To time a single message, the two ranks send it there and back, and half of the time counts.
        To time messages directly one after the other, the first rank sends all of them and then
        waits for one short reply.
        """
        torch, dist = self.torch, self.dist
        first = self.rank == table.members[0]
        other = table.members[1 if first else 0]
        x = torch.zeros(size // ELEMENT, device=self.device)
        reply = torch.zeros(1, device=self.device)
        took: list[float] = []

        def swap(there: Any, back: Any, times: int = 1) -> None:
            for _ in range(times):
                (dist.send if first else dist.recv)(there, other)
            (dist.recv if first else dist.send)(back, other)
            self.wait()

        swap(x, x)
        for _ in range(visit.alone):
            swap(reply, reply)  # both ranks are ready now
            start = time.perf_counter()
            swap(x, x)
            took.append((time.perf_counter() - start) * 1e6 / 2)
        start = time.perf_counter()
        swap(x, reply, visit.queued)
        return [*took, (time.perf_counter() - start) * 1e6 / visit.queued]

    def measure(self, table: Table, size: int, visit: Visit) -> list[list[float]]:
        """The times of every member in microseconds. The list of a member has the time of each
        single call, then the time per call if calls run directly one after the other, then the time
        per call if two calls run at the same time (0 if this was not measured)."""
        nothing = [0.0] * (visit.alone + 2)
        mine = nothing
        if self.rank in table.members:
            if table.pair:
                mine = [*self.time_pair(table, size, visit), 0.0]
            else:
                group = self.groups[len(table.members)]
                call = self.call(table, size)
                call(False)
                alone = self.time_alone(call, visit.alone, group)
                queued = self.time_queued(call, visit.queued, group)
                two = 0.0
                if table.collective == "all_reduce" and len(table.members) == self.world:
                    both = (call, self.call(table, size, copy=1))
                    two = self.time_two(both, visit.queued + visit.queued % 2, group)
                mine = [*alone, queued, two]
        everybody = self.gather(mine)
        return [everybody[member] for member in table.members]


def sum_up(table: Table, visit: Visit, took: list[list[float]]) -> dict[str, Any]:
    """Combine the members' times into one time per call.

    No member ends a collective before the last member has arrived, and the last member waits for
    nobody. So the shortest time of all members is the time of the transfer itself. A broadcast is
    different: the root ends without waiting for any member, so the longest time counts. For a pair,
    only the first rank measures the whole round trip, so the time of the first rank counts.
    """
    choose = max if table.collective == "broadcast" else min
    if table.pair:
        took = took[:1]
    columns = list(zip(*took))
    facts: dict[str, Any] = {
        "alone_us": [round(choose(column), 3) for column in columns[: visit.alone]],
        "back_to_back_us": round(max(columns[visit.alone]), 3),
    }
    if max(columns[visit.alone + 1]) > 0:
        facts["two_at_once_us"] = round(max(columns[visit.alone + 1]), 3)
    return facts


def make_tables(
    collectives: Sequence[str], sizes: Sequence[int], counts: Sequence[int], hosts: Sequence[str]
) -> list[Table]:
    """The curves to measure. Sizes are rounded up to whole elements. If the collective divides the
    array among the ranks, they are rounded up to a whole number of elements per rank."""
    tables = []
    world = len(hosts)
    for name in collectives:
        if name == "send_recv":
            tables += [Table(name, list(pair), pair=True) for pair in choose_pairs(hosts)]
            if world > 2:
                tables.append(Table(name, list(range(world))))
        else:
            tables += [Table(name, list(range(count))) for count in counts]
    for table in tables:
        cut = table.collective in ("all_gather", "reduce_scatter", "all_to_all")
        unit = ELEMENT * (len(table.members) if cut else 1)
        table.sizes = [-(-size // unit) * unit for size in sizes]
    return tables


def next_visits(tables: Sequence[Table], count: int, number: int) -> list[tuple[int, int]]:
    """The order of one pass, as pairs (index of the table, index of the size). A pass measures all
    tables at one size, then all tables at the next size. Every second pass has the opposite order.
    Otherwise, if the machine gets slower over time, this would look like an effect of the size."""
    order = [(t, place) for place in range(count) for t in range(len(tables))]
    return order if number % 2 == 0 else order[::-1]


class Schedule:
    """Decides on rank 0 which visits fit into the time that is left."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.seconds, self.begin = clock, seconds, clock()

    def left(self) -> float:
        return self.begin + self.seconds - self.clock()

    def allows(self, table: Table, place: int, number: int) -> Visit | None:
        """The visit to make, or None if it would take too long. The first pass measures the two
        smallest sizes in any case."""
        size = table.sizes[place]
        seconds = table.guess(size)
        visit = plan_visit(seconds)
        cost = seconds * (1 + visit.alone + 2 * visit.queued)
        if number > 0:
            return visit if size in table.took and cost < self.left() else None
        if table.stopped:
            return None
        if place >= 2 and cost > self.left() - (1 - GROWTH) * self.seconds:
            table.stopped = True
            return None
        return visit


def calibrate(ranks: Ranks, options: argparse.Namespace) -> None:
    facts = {
        "host": options.host or socket.gethostname(),
        "library": f"torch {ranks.torch.__version__}",
        "backend": ranks.backend,
        "settings": [PROTOCOL, options.collectives, options.sizes, options.ranks],
    }
    everybody = ranks.ask_all(facts)
    for key in ("library", "backend", "settings"):
        for rank, other in enumerate(everybody):
            if other[key] != everybody[0][key]:
                raise Failure(
                    "disagree",
                    f"rank {rank} has {key} {other[key]}, but rank 0 has {everybody[0][key]}: "
                    "all ranks must have the same",
                )
    hosts = [str(other["host"]) for other in everybody]
    tables = make_tables(options.collectives, options.sizes, list(ranks.groups), hosts)
    leads = ranks.rank == 0
    if leads:
        tell("start", protocol=PROTOCOL, ranks=ranks.world, backend=ranks.backend, dtype="float32",
             library=facts["library"], device=device_name(ranks), hosts=hosts,
             passes=options.repeats, seconds=options.seconds)  # fmt: skip
    lacking = {table.collective for table in tables if not ranks.has(table)}
    tables = [table for table in tables if table.collective not in lacking]
    for name in sorted(lacking) if leads else []:
        tell("lacking", collective=name)
    if not leads and from_environment(LOCAL_NAMES) == 0:
        tell("elsewhere")
    schedule = Schedule(options.seconds)
    for number in range(options.repeats):
        measured = 0
        for index, place in next_visits(tables, len(options.sizes), number):
            table = tables[index]
            visit = schedule.allows(table, place, number) if leads else None
            alone, queued = ranks.hear_first([visit.alone, visit.queued] if visit else [0, 0])
            if alone == 0:
                continue
            visit = Visit(alone, queued)
            took = ranks.measure(table, table.sizes[place], visit)
            measured += 1
            if leads:
                sample = sum_up(table, visit, took)
                slower = max(min(sample["alone_us"]), sample["back_to_back_us"])
                table.took[table.sizes[place]] = slower / 1e6
                ends = {"from": table.members[0], "to": table.members[1]} if table.pair else {}
                tell("sample", collective=table.collective, ranks=len(table.members),
                     bytes=table.sizes[place], number=number, left_s=round(schedule.left(), 1),
                     **ends, **sample)  # fmt: skip
        if measured == 0:
            break
    if leads:
        tell("end", cut=sorted({t.collective for t in tables if t.stopped}))


def device_name(ranks: Ranks) -> str:
    return str(ranks.torch.cuda.get_device_name(ranks.device)) if ranks.on_gpu else "cpu"


def parse(words: Sequence[str]) -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(number) for number in text.split(",") if number]

    parser = argparse.ArgumentParser(prog="weft calibrate")
    parser.add_argument("--collectives", type=lambda text: text.split(","), required=True)
    parser.add_argument("--sizes", type=numbers, required=True)
    parser.add_argument("--ranks", type=numbers, default=[])
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--host", default="", help="use this name for the host; default: its own")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    options = parse(words)
    try:
        ranks = Ranks(options.backend, options.ranks)
        calibrate(ranks, options)
        ranks.end()
    except Failure as failure:
        if not from_environment(RANK_NAMES):
            tell("error", kind=failure.kind, what=str(failure))
        return 1
    return 0


if __name__ == "__main__":
    # Python puts the folder of a script first on sys.path. Here this folder contains Weft's
    # modules. They must not hide other modules with the same names, such as `record`, so the folder
    # is removed.
    if sys.path and sys.path[0] == os.path.dirname(os.path.realpath(__file__)):
        del sys.path[0]
    sys.exit(main(sys.argv[1:]))
