# SPDX-License-Identifier: Apache-2.0
"""Redistributes an array with a chain of collectives of the back-end. Each collective runs along
one dimension of the mesh, or over all ranks of the mesh.

NCCL needs less time per byte in a collective than in a message, because on a network it divides a
message into smaller pieces. So if the data is large enough, two collectives are faster than one
exchange of messages with the same number of bytes. For small data, two collectives are slower,
because starting the second collective costs time.

Search finds the cheapest chain with Dijkstra's algorithm. The nodes of its graph are the placements
of the array on the mesh, and the edges are the collectives that lead from one placement to another.
chain_of() then makes the collectives of the cheapest path (native.collective_of()), and Run
executes them.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.distributed as dist

from . import native
from .layouts import Placed, Spec, local_shape
from .messages import Deadline
from .native import ADDED, Collective, collective_of, cut_of

STATES = 4096
"""If there are more ways than this to place an array on a mesh, Search is not used."""

MESSAGES = 1.4
"""Time per byte in messages, divided by time per byte in collectives.
Over sockets, values from 1.2 to 1.5 were measured."""


def rounded(size: int) -> int:
    """The number of elements by which a part between two steps may exceed `size`. Parts become
    larger if dimensions are not evenly divisible."""
    return size // 16


@dataclass(frozen=True)
class Chain:
    steps: tuple[Collective, ...]
    shapes: tuple[tuple[int, ...], ...]  # shape of this rank's part after each step
    received: int  # elements that a rank receives in all steps; the maximum over all ranks
    padding: int  # elements that the steps add to make parts equally large
    held: int  # elements of memory in addition to source and target; the maximum over all ranks

    def price(self, step: float, element: float) -> float:
        """The time of the chain if starting a collective takes the time `step` and receiving an
        element takes the time `element`."""
        price = 0.0
        for one in self.steps:
            if one.kind != "cut":
                per_element = element * (MESSAGES if one.kind == "all_to_all" else 1)
                price += step + (max(one.received) + one.padding) * per_element
        return price

    def only_messages(self, ranks: int) -> bool:
        """Whether this chain does the same as the messages of the plan, so that the chain has no
        advantage.

        If all ranks take part in an all-to-all, the plan's messages are also sent with a single
        call. An all-to-all along one mesh dimension is one call only as a collective, so a chain
        has an advantage there.
        """
        kinds = {one.kind for one in self.steps}
        along_dimension = len(self.steps) == 1 and self.steps[0].ranks < ranks
        return kinds <= {"all_to_all", "cut"} and not along_dimension


State = tuple[Placed, ...]
"""The placement of the array on every dimension (axis) of the mesh."""


@dataclass(frozen=True)
class Move:
    """A step of the search: one collective, or a cut without communication."""

    to: State
    received: float = 0  # elements; an element in a message counts MESSAGES times
    hops: int = 0  # number of transfers one after the other, as in a ring; 0: no communication
    copied: int = 0  # elements that are copied to put parts in order


@dataclass(frozen=True)
class Search:
    """Searches the cheapest chain of moves from the placements of the source to those of the
    target.

    If several mesh axes shard one array dimension, they divide it in their order, like torch.chunk.
    So only the last of these axes can take part in a gather, a scatter or a cut. All sizes are
    those of the largest part, because smaller parts are padded to that size.
    """

    source: Spec
    target: Spec
    adds: bool  # the back-ends can add up this element type
    together: bool  # the ranks of the mesh are all ranks, so the default group can be used

    def extents(self, state: State) -> list[int]:
        extents = list(self.source.shape)
        for n, each in zip(self.source.sizes, state):
            if each.dim is not None:
                extents[each.dim] = -(-extents[each.dim] // n)
        return extents

    def size(self, state: State) -> int:
        """The number of elements of the largest part."""
        return math.prod(self.extents(state))

    def shared(self, state: State, other: State) -> int:
        """The most elements that a part of `state` and a part of `other` have in common."""
        return math.prod(map(min, self.extents(state), self.extents(other)))

    def copied(self, state: State, axes: Iterable[int], whole: int) -> int:
        """The number of elements that must be copied to gather or scatter the parts along these
        axes. It is 0 if the parts lie one after the other in memory. Otherwise it is `whole`, the
        number of elements of all these parts together."""
        extents = self.extents(state)
        if math.prod(extents) * math.prod(self.source.sizes[axis] for axis in axes) != whole:
            return whole
        dims = {state[axis].dim for axis in axes}
        first = next((dim for dim, extent in enumerate(extents) if dim in dims or extent > 1), None)
        return 0 if dims <= {first} else whole

    def moves(self, state: State) -> Iterator[Move]:
        """All moves from this placement. The numbers of hops are those of ring algorithms: n - 1
        for a gather or scatter over n ranks, and 2 (n - 1) for an all-reduce."""
        sizes, dims = self.source.sizes, range(len(self.source.shape))
        part = self.size(state)
        for axis, each in enumerate(state):
            later = {other.dim for other in state[axis + 1 :]}
            free = [put(state, axis, Placed(dim=dim)) for dim in dims if dim not in later]
            whole, hops = put(state, axis, Placed()), sizes[axis] - 1
            if each.reduce and self.adds:
                # All-reduce, or reduce-scatter along any free dimension.
                yield Move(whole, 2 * (part - part // sizes[axis]), 2 * hops)
                for to in free:
                    yield Move(to, hops * self.size(to), hops, self.copied(to, [axis], part))
            elif not each.reduce and each.dim is None:
                # Replicated ranks cut out their shards without communication.
                yield from map(Move, free)
            elif each.dim is not None:
                if each.dim not in later:
                    # All-gather, or all-to-all to shard another dimension.
                    size = self.size(whole)
                    missing = min(hops * part, size)  # a rank whose part is empty may receive this much
                    yield Move(whole, missing, hops, self.copied(state, [axis], size))
                    for to in free:
                        if to != state:
                            yield Move(to, MESSAGES * hops * self.shared(state, to), 1, part)
                # Another axis, along which the array is replicated, takes over the sharding: ranks
                # that have a part broadcast it along this axis.
                if [other.dim for other in state].count(each.dim) == 1:
                    for other, unused in enumerate(state):
                        if unused == Placed():
                            to = put(whole, other, each)
                            yield Move(to, self.size(to), hops)
        if self.together:
            yield from self.moves_of_all(state)

    def moves_of_all(self, state: State) -> Iterator[Move]:
        """Yield the moves that are a single collective of all ranks of the mesh."""
        part, count, axes = self.size(state), math.prod(self.source.sizes), range(len(state))
        to = tuple(Placed() for _ in state)
        whole = self.size(to)
        if all(each.dim is not None for each in state):
            yield Move(to, (count - 1) * part, count - 1, self.copied(state, axes, whole))
        elif self.adds and all(each.reduce for each in state):
            yield Move(to, 2 * (part - part // count), 2 * (count - 1))
            end = self.target.placed
            if all(each.dim is not None for each in end):
                other_parts = (count - 1) * self.size(end)
                yield Move(end, other_parts, count - 1, self.copied(end, axes, whole))

    def path(self, step: float, element: float) -> list[Move]:
        """The cheapest path to the target; empty if there is none. Apart from rounding, no part on
        the path is larger than the largest part of the source or the target."""
        start, end = self.source.placed, self.target.placed
        most = max(self.size(start), self.size(end))
        most += rounded(most)
        # Costs are compared by price, then by the number of collectives, of hops and of copied
        # elements. If these are equal too, the placement that was found first wins. It is the same
        # on all ranks, so all ranks choose the same path.
        number = itertools.count()
        nothing: Cost = (0.0, 0, 0, 0)
        heap: list[tuple[Cost, int, State]] = [(nothing, next(number), start)]
        reached: dict[State, tuple[State, Move]] = {}
        best = {start: nothing}
        while heap:
            so_far, _, state = heapq.heappop(heap)
            if state == end:
                break
            if so_far > best[state]:
                continue
            price, starts, hops, copied = so_far
            for move in self.moves(state):
                begun = int(move.hops > 0)
                cost = begun * step + move.received * element
                then = (price + cost, starts + begun, hops + move.hops, copied + move.copied)
                known = move.to in best and best[move.to] <= then
                if known or self.size(move.to) > most:
                    continue
                best[move.to] = then
                reached[move.to] = state, move
                heapq.heappush(heap, (then, next(number), move.to))
        path: list[Move] = []
        state = end
        while state in reached and state != start:
            state, move = reached[state]
            path.append(move)
        return path[::-1]


Cost = tuple[float, int, int, int]


def put(state: State, axis: int, each: Placed) -> State:
    return (*state[:axis], each, *state[axis + 1 :])


def stops_of(search: Search, step: float, element: float) -> list[Spec]:
    """The stops of the cheapest path. Stops are the source, the layouts between the collectives,
    and the target. There is no stop after a cut, because the next collective can take only the part
    that it needs. But a cut at the end of the path is a separate step and has a stop."""
    stops = [search.source]
    for move in search.path(step, element):
        if move.hops or move.to == search.target.placed:
            stops.append(replace(search.source, placed=move.to))
    return stops


def chain_of(
    source: Spec,
    target: Spec,
    dtype: torch.dtype,
    reduction: str,
    rank: int,
    world: int,
    step: float,
    element: float,
) -> Chain | None:
    """The cheapest chain of collectives; None if there is none, or if the array has no elements.
    All ranks get the same chain.

    step: the time to start a collective. element: the time per element that it receives.
    """
    if math.prod(source.shape) == 0:
        return None
    routes = [[source, target]]  # if the search finds nothing: a single collective
    plain = all(each.split == 1 for each in (*source.placed, *target.placed))
    states = (len(source.shape) + 2) ** len(source.sizes)
    if native.alike(source, target) and plain and states <= STATES:
        together = len(source.sizes) > 1 and source.ranks == tuple(range(world))
        search = Search(source, target, dtype in ADDED, together)
        routes.insert(0, stops_of(search, step, element))
    for stops in routes:
        steps = [
            collective_of(one, other, dtype, reduction, rank, world) or cut_of(one, other, rank)
            for one, other in itertools.pairwise(stops)
        ]
        if steps and None not in steps:
            return chained(stops, [step for step in steps if step is not None], rank)
    return None


def chained(stops: Sequence[Spec], steps: Sequence[Collective], rank: int) -> Chain:
    """Make the chain of these steps, and compute the memory that it needs in addition to source and
    target.

    During a step, this memory holds the input of the step (unless the input is the source), the
    copies that the step makes, and the output (unless the output is the target). If a step writes
    its output directly into the memory in which the next step works, this output needs no separate
    memory.
    """
    parts = [max(elements(stop, each) for each in stop.ranks) for stop in stops[1:]]
    outputs = [0] * len(steps)
    for i in reversed(range(len(steps) - 1)):
        then = steps[i + 1]
        outputs[i] = max(then.copies, outputs[i + 1]) if works_in_place(then) else parts[i]
    held = 0
    for i, step in enumerate(steps):
        inputs = 0 if i == 0 or works_in_place(step) else parts[i - 1]
        held = max(held, inputs + step.copies + outputs[i])
    shapes = tuple(local_shape(stop, rank) or () for stop in stops[1:])
    received = zip(*(step.received for step in steps if step.received))
    padding = sum(step.padding for step in steps)
    return Chain(tuple(steps), shapes, max(map(sum, received), default=0), padding, held)


def works_in_place(step: Collective) -> bool:
    """Whether the step before this one can write its output directly into the memory in which this
    step gathers or adds up."""
    return step.kind in ("all_gather", "all_reduce") and step.all_taken


@dataclass
class Run:
    """One execution of a chain. Memory is allocated when a step first needs it, and freed after the
    last step that uses it."""

    chain: Chain
    out: torch.Tensor  # this rank's part of the target
    groups: list[Any]  # the process group of each step
    outs: dict[int, torch.Tensor] = field(default_factory=dict)  # step -> its output
    prefilled: dict[int, torch.Tensor] = field(default_factory=dict)
    """Maps a step to the memory in which it gathers or adds up, if the previous step has already
    written its output there."""

    def out_of(self, i: int) -> torch.Tensor:
        """The memory for the output of step i. If possible, this is the memory in which the next
        step needs its input."""
        if i not in self.outs:
            self.outs[i] = self._new_out(i)
        return self.outs[i]

    def _new_out(self, i: int) -> torch.Tensor:
        if i + 1 == len(self.chain.steps):
            return self.out
        then, shape = self.chain.steps[i + 1], self.chain.shapes[i]
        if not works_in_place(then):
            return self.out.new_empty(shape)
        if then.got is None:  # an all-reduce adds up in its output
            self.prefilled[i + 1] = self.out_of(i + 1)
            return self.prefilled[i + 1]
        # The next step is an all-gather, so write into this rank's slot of its buffer. If this
        # buffer is not the memory of the gathered array, the gathered array is allocated later,
        # when it is needed.
        slots = self.out_of(i + 1) if then.got.straight else self.out.new_empty(then.got.total)
        self.prefilled[i + 1] = slots.view(-1)
        ranks = dist.get_process_group_ranks(self.groups[i + 1])
        slot = native.slot_of(self.prefilled[i + 1], ranks)
        return slot[: math.prod(shape)].view(shape)

    def run(self, given: torch.Tensor, deadline_of: Callable[[Any], Deadline]) -> None:
        for i, (step, group) in enumerate(zip(self.chain.steps, self.groups)):
            out = self.out_of(i)
            prefilled = self.prefilled.pop(i, None)
            native.run_collective(step, given, out, group, deadline_of(group), prefilled)
            given = self.outs.pop(i)


def run_chain(
    chain: Chain,
    given: torch.Tensor,
    out: torch.Tensor,
    group_of: Callable[[Collective], Any],
    deadline_of: Callable[[Any], Deadline],
) -> None:
    Run(chain, out, [group_of(step) for step in chain.steps]).run(given, deadline_of)


def elements(spec: Spec, rank: int) -> int:
    """Elements of the rank's part; 0 if it is not in the mesh."""
    return math.prod(local_shape(spec, rank) or (0,))
