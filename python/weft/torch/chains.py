# SPDX-License-Identifier: Apache-2.0
"""Redistributions as a chain of collectives of the back-end, each along one dimension of the mesh or of all
of its ranks: where together they receive no more than the planned messages would.

NCCL is slower with messages than with its collectives, as it cuts the former into smaller pieces on a
network: so two collectives win over one exchange of as many bytes, as soon as these outweigh another start.
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
"""Ways to place an array on a mesh up to which they are searched."""

MESSAGES = 1.4
"""Time of a byte in messages, over that of one in a collective: 1.2 to 1.5 on NCCL's sockets."""


def rounded(size: int) -> int:
    """By how much that size of parts may be exceeded where arrays do not divide."""
    return size // 16


@dataclass(frozen=True)
class Chain:
    steps: tuple[Collective, ...]
    shapes: tuple[tuple[int, ...], ...]  # of this rank's part behind each of them
    received: int  # elements, at most, by any rank
    padding: int  # elements that fill up parts on their way
    held: int  # elements beside both ends, at most, on any rank

    def price(self, step: float, element: float) -> float:
        return sum(
            step
            + (max(one.received) + one.padding) * element * (MESSAGES if one.kind == "all_to_all" else 1)
            for one in self.steps
            if one.kind != "cut"
        )

    def only_messages(self, ranks: int) -> bool:
        """Whether planned messages do the same: where all ranks exchange with all, these are one call, too."""
        kinds = {one.kind for one in self.steps}
        lines = len(self.steps) == 1 and self.steps[0].ranks < ranks
        return kinds <= {"all_to_all", "cut"} and not lines


State = tuple[Placed, ...]


@dataclass(frozen=True)
class Move:
    to: State
    received: float = 0  # elements; more than those where they come as messages
    hops: int = 0  # from rank to rank, one after the other; none: ranks cut what they hold alike
    copied: int = 0  # elements, to put parts in order


@dataclass(frozen=True)
class Search:
    """Over placements: each dimension is cut by its axes in their order, as torch.chunk cuts, so that an axis
    that no later one follows can be gathered, scattered to, or cut by. What counts are the largest parts, to
    whose size others are filled up."""

    source: Spec
    target: Spec
    adds: bool
    together: bool  # all ranks of the mesh have a group

    def extents(self, state: State) -> list[int]:
        extents = list(self.source.shape)
        for n, each in zip(self.source.sizes, state):
            if each.dim is not None:
                extents[each.dim] = -(-extents[each.dim] // n)
        return extents

    def size(self, state: State) -> int:
        """Elements of a part."""
        return math.prod(self.extents(state))

    def shared(self, state: State, other: State) -> int:
        """Elements of a piece that goes from a part of the one to a part of the other."""
        return math.prod(map(min, self.extents(state), self.extents(other)))

    def copied(self, state: State, axes: Iterable[int], whole: int) -> int:
        """Of the whole that parts along these axes make up: all of it, unless they lie side by side."""
        extents = self.extents(state)
        if math.prod(extents) * math.prod(self.source.sizes[axis] for axis in axes) != whole:
            return whole
        dims = {state[axis].dim for axis in axes}
        first = next((dim for dim, extent in enumerate(extents) if dim in dims or extent > 1), None)
        return 0 if dims <= {first} else whole

    def moves(self, state: State) -> Iterator[Move]:
        sizes, dims = self.source.sizes, range(len(self.source.shape))
        part = self.size(state)
        for axis, each in enumerate(state):
            later = {other.dim for other in state[axis + 1 :]}
            free = [put(state, axis, Placed(dim=dim)) for dim in dims if dim not in later]
            whole, hops = put(state, axis, Placed()), sizes[axis] - 1
            if each.reduce and self.adds:
                yield Move(whole, 2 * (part - part // sizes[axis]), 2 * hops)
                for to in free:
                    yield Move(to, hops * self.size(to), hops, self.copied(to, [axis], part))
            elif not each.reduce and each.dim is None:
                yield from map(Move, free)
            elif each.dim is not None:
                if each.dim not in later:
                    size = self.size(whole)
                    lacking = min(hops * part, size)  # by a rank whose part may be empty
                    yield Move(whole, lacking, hops, self.copied(state, [axis], size))
                    for to in free:
                        if to != state:
                            yield Move(to, MESSAGES * hops * self.shared(state, to), 1, part)
                # One axis takes the place of another: those that have a part give it to their line.
                if [other.dim for other in state].count(each.dim) == 1:
                    for other, unused in enumerate(state):
                        if unused == Placed():
                            to = put(whole, other, each)
                            yield Move(to, self.size(to), hops)
        if self.together:
            yield from self.moves_of_all(state)

    def moves_of_all(self, state: State) -> Iterator[Move]:
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
        """The cheapest way there; empty: there is none. Parts on the way are as large as at the ends at most."""
        start, end = self.source.placed, self.target.placed
        most = max(self.size(start), self.size(end))
        most += rounded(most)
        # Of equal ways the one with fewer collectives, fewer hops, less to copy, then the first on all ranks.
        number = itertools.count()
        nothing = (0.0, 0, 0, 0)
        heap: list[tuple[tuple[float, int, int, int], int, State]] = [(nothing, next(number), start)]
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
        way: list[Move] = []
        state = end
        while state in reached and state != start:
            state, move = reached[state]
            way.append(move)
        return way[::-1]


def put(state: State, axis: int, each: Placed) -> State:
    return (*state[:axis], each, *state[axis + 1 :])


def stops_of(search: Search, step: float, element: float) -> list[Spec]:
    """The ends of all collectives; cuts are part of the one behind them, or the last step."""
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
    """The cheapest one, if there is any; the same on all ranks. Of an array without elements there is none.

    step and element: what a collective costs, and what each element that it receives.
    """
    if math.prod(source.shape) == 0:
        return None
    ways = [[source, target]]
    plain = all(each.split == 1 for each in (*source.placed, *target.placed))
    if native.alike(source, target) and plain and (len(source.shape) + 2) ** len(source.sizes) <= STATES:
        together = len(source.sizes) > 1 and source.ranks == tuple(range(world))
        search = Search(source, target, dtype in ADDED, together)
        ways.insert(0, stops_of(search, step, element))
    for stops in ways:
        steps = [
            collective_of(one, other, dtype, reduction, rank, world) or cut_of(one, other, rank)
            for one, other in itertools.pairwise(stops)
        ]
        if steps and None not in steps:
            return chained(stops, [step for step in steps if step is not None], rank)
    return None


def chained(stops: Sequence[Spec], steps: Sequence[Collective], rank: int) -> Chain:
    parts = [max(elements(stop, each) for each in stop.ranks) for stop in stops[1:]]
    behind = [0] * len(steps)  # memory of what comes out, where that is not the end
    for i in reversed(range(len(steps) - 1)):
        then = steps[i + 1]
        behind[i] = max(then.copies, behind[i + 1]) if goes_into(then) else parts[i]
    held = 0
    for i, step in enumerate(steps):
        before = 0 if i == 0 or goes_into(step) else parts[i - 1]
        held = max(held, before + step.copies + behind[i])
    shapes = tuple(local_shape(stop, rank) or () for stop in stops[1:])
    received = zip(*(step.received for step in steps if step.received))
    padding = sum(step.padding for step in steps)
    return Chain(tuple(steps), shapes, max(map(sum, received), default=0), padding, held)


def goes_into(step: Collective) -> bool:
    """Whether what is before it can be put at once where it gathers, or adds up."""
    return step.kind in ("all_gather", "all_reduce") and step.all_taken


@dataclass
class Run:
    """A chain under way: memory is taken when the first step needs it, and given back behind the last."""

    chain: Chain
    out: torch.Tensor
    groups: list[Any]  # of the steps
    outs: dict[int, torch.Tensor] = field(default_factory=dict)
    rooms: dict[int, torch.Tensor] = field(default_factory=dict)

    def out_of(self, i: int) -> torch.Tensor:
        """Where the step puts its result: if possible, where the next one goes on with it."""
        if i not in self.outs:
            self.outs[i] = self._new_out(i)
        return self.outs[i]

    def _new_out(self, i: int) -> torch.Tensor:
        if i + 1 == len(self.chain.steps):
            return self.out
        then, shape = self.chain.steps[i + 1], self.chain.shapes[i]
        if not goes_into(then):
            return self.out.new_empty(shape)
        if then.got is None:
            self.rooms[i + 1] = self.out_of(i + 1)
            return self.rooms[i + 1]
        # Where slots lie apart from what is gathered, that is needed later alone.
        room = self.out_of(i + 1) if then.got.straight else self.out.new_empty(then.got.room)
        self.rooms[i + 1] = room.view(-1)
        slot = native.slot_of(self.rooms[i + 1], dist.get_process_group_ranks(self.groups[i + 1]))
        return slot[: math.prod(shape)].view(shape)

    def run(self, given: torch.Tensor, deadline_of: Callable[[Any], Deadline]) -> None:
        for i, (step, group) in enumerate(zip(self.chain.steps, self.groups)):
            out = self.out_of(i)
            room = self.rooms.pop(i, None)
            native.run_collective(step, given, out, group, deadline_of(group), room)
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
    return math.prod(local_shape(spec, rank) or (0,))
