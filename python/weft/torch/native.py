# SPDX-License-Identifier: Apache-2.0
"""Redistributions that are one collective of the back-end: summands along one dimension of a mesh, or all
of them, that are added up, and parts that are gathered. Back-ends do more for their collectives than for
messages, so it runs as it is; copies before and after put in order what does not lie so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.distributed as dist

from .layouts import Placed, Spec, part_of
from .messages import Deadline, peer_failed

OPERATIONS = {
    "sum": dist.ReduceOp.SUM,
    "min": dist.ReduceOp.MIN,
    "max": dist.ReduceOp.MAX,
    "prod": dist.ReduceOp.PRODUCT,
}

# Those that every back-end can add up.
ADDED = {
    torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int8, torch.uint8, torch.int32, torch.int64,
}  # fmt: skip


Kind = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcasts", "cut"]
"""broadcasts: parts are gathered that differ in size, or that only some of the ranks have. cut: each rank has
more than it shall have, and nothing is sent."""

Line = tuple[int, ...]
"""Ranks that take part in one collective."""


@dataclass(frozen=True)
class View:
    """An array as the parts that it is made up of: each dimension with those of the parts' places in front, and
    an order of these in which all places come first."""

    extents: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def straight(self) -> bool:
        """Whether parts are in memory one after the other, each in one piece."""
        seen = [dim for dim in self.order if self.extents[dim] != 1]
        return seen == sorted(seen)

    def of(self, array: torch.Tensor) -> torch.Tensor:
        return array.reshape(self.extents).permute(self.order)


@dataclass(frozen=True)
class Collective:
    kind: Kind
    axes: tuple[int, ...]  # of the mesh: ranks along them take part; one of them, or all
    ranks: int  # that take part together
    shape: tuple[int, ...]  # of what this rank has
    taken: tuple[slice, ...]  # of that, what it takes part with
    all_taken: bool  # on all ranks
    sent: View | None = None  # parts of what it takes part with
    got: View | None = None  # parts of what comes out
    # Of broadcasts: the rank that each part comes from, and where it belongs.
    parts: tuple[tuple[int, tuple[slice, ...]], ...] = ()
    copies: int = 0  # elements that are held beside both ends, at most, on any rank
    received: int = 0  # elements, at most, by any rank
    reduction: str = ""


def kind_of(before: Sequence[Placed], after: Sequence[Placed], dtype: torch.dtype) -> Kind | None:
    was_cut, is_cut = (all(each.dim is not None for each in end) for end in (before, after))
    whole = set(after) == {Placed()}
    if was_cut:
        return "all_gather" if whole else "all_to_all" if is_cut and len(before) == 1 else None
    if dtype not in ADDED or not all(each.reduce for each in before):
        return None
    return "all_reduce" if whole else "reduce_scatter" if is_cut else None


def lines(spec: Spec, axes: tuple[int, ...]) -> list[Line]:
    """The ranks of the mesh along the axes, as often as there are."""
    if len(axes) == len(spec.sizes):
        return [spec.ranks]
    (axis,) = axes
    step = math.prod(spec.sizes[axis + 1 :])
    length = step * spec.sizes[axis]
    return [
        spec.ranks[first + at : first + length : step]
        for first in range(0, len(spec.ranks), length)
        for at in range(step)
    ]


Box = tuple[tuple[int, int], ...]


def box_of(spec: Spec, rank: int) -> Box | None:
    """What the rank holds, if it is one box, and not empty."""
    part = part_of(spec, rank) or ()
    if any(len(strips) != 1 for strips in part):
        return None
    return tuple(strips[0] for strips in part)


def boxes_of(spec: Spec) -> dict[int, Box] | None:
    """Of all ranks."""
    boxes = {rank: box for rank in spec.ranks if (box := box_of(spec, rank)) is not None}
    return boxes if len(boxes) == len(spec.ranks) else None


def size_of(box: Box) -> int:
    return math.prod(max(0, high - low) for low, high in box)


def common(box: Box, other: Box) -> Box:
    return tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other))


def within(box: Box, whole: Box) -> tuple[slice, ...]:
    """Nothing of it where it is empty."""
    return tuple(
        slice(low - at, max(low, high) - at) for (low, high), (at, _) in zip(box, whole)
    )


@dataclass(frozen=True)
class Fold:
    """How parts make up a whole: which of the axes cut each dimension, most significant first."""

    axes: tuple[int, ...]
    sizes: tuple[int, ...]  # of the axes
    cuts: tuple[tuple[int, ...], ...]  # numbers in `axes`, of each dimension

    def parts(self, whole: Box) -> list[Box]:
        """In the order of places; none where they are not equal."""
        pieces = [math.prod(self.sizes[i] for i in cut) for cut in self.cuts]
        if any((high - low) % count for (low, high), count in zip(whole, pieces)):
            return []
        return [self._part(whole, place) for place in itertools.product(*map(range, self.sizes))]

    def _part(self, whole: Box, place: tuple[int, ...]) -> Box:
        part = []
        for (low, high), cut in zip(whole, self.cuts):
            size, at = high - low, low
            for i in cut:
                size //= self.sizes[i]
                at += place[i] * size
            part.append((at, at + size))
        return tuple(part)

    def view(self, whole: Box) -> View:
        extents: list[int] = []
        places, rest = [0] * len(self.axes), []
        for (low, high), cut in zip(whole, self.cuts):
            size = high - low
            for i in cut:
                places[i] = len(extents)
                extents.append(self.sizes[i])
                size //= self.sizes[i]
            rest.append(len(extents))
            extents.append(size)
        return View(tuple(extents), (*places, *rest))


def fold_of(spec: Spec, axes: tuple[int, ...]) -> Fold:
    cuts = tuple(
        tuple(i for i, axis in enumerate(axes) if spec.placed[axis].dim == dim)
        for dim in range(len(spec.shape))
    )
    return Fold(axes, tuple(spec.sizes[axis] for axis in axes), cuts)


def alike(source: Spec, target: Spec) -> bool:
    """Whether both are on the same mesh, and cut in the order of its dimensions."""
    same = (source.sizes, source.ranks) == (target.sizes, target.ranks)
    return same and not source.order and not target.order


def cut_of(source: Spec, target: Spec, rank: int) -> Collective | None:
    """If all that is to be done is to take a part."""
    has, shall = boxes_of(source), boxes_of(target)
    reduces = [[each.reduce for each in end.placed] for end in (source, target)]
    if not alike(source, target) or has is None or shall is None or reduces[0] != reduces[1]:
        return None
    if any(common(has[each], shall[each]) != shall[each] for each in has):
        return None
    shape = tuple(high - low for low, high in has[rank])
    return Collective("cut", (), 1, shape, within(shall[rank], has[rank]), False)


def collective_of(
    source: Spec,
    target: Spec,
    dtype: torch.dtype,
    reduction: str,
    rank: int,
    world: int | None = None,
) -> Collective | None:
    """The one that takes the array there, if one does; the same on all ranks.

    Of what ranks hold alike, each takes part with what it shall have of it alone.
    world: the number of all ranks, where those of the whole mesh may take part in one, and parts may be
    sent to the others of a line by those that have them.
    """
    if not alike(source, target):
        return None
    differ = [axis for axis, each in enumerate(source.placed) if each != target.placed[axis]]
    cut = [
        axis
        for axis in differ
        if source.placed[axis] == Placed() and target.placed[axis].dim is not None
    ]
    axes = tuple(axis for axis in differ if axis not in cut)
    together = world is not None and source.ranks == tuple(range(world))
    if len(axes) != 1 and not (together and len(axes) == len(source.sizes) > 1):
        return None
    before, after = ([end.placed[axis] for axis in axes] for end in (source, target))
    kind = kind_of(before, after, dtype)
    has, shall = boxes_of(source), boxes_of(target)
    if kind is None or has is None or shall is None:
        return None
    if kind == "all_gather":
        return gather_of(source, axes, has, shall, rank, world is not None)
    if kind == "all_to_all" and world is None:
        return None
    placed = tuple((target if i in cut else source).placed[i] for i in range(len(source.sizes)))
    takes = boxes_of(replace(source, placed=placed))
    if takes is None or any(common(takes[each], has[each]) != takes[each] for each in has):
        return None
    sent = fold_of(target, axes)  # parts of what ranks take part with
    got = fold_of(source, axes)
    for line in lines(source, axes):
        if kind == "all_reduce":
            fits = len({takes[each] for each in line} | {shall[each] for each in line}) == 1
        else:  # a process group has its ranks in order, in which parts have to lie
            whole = around([takes[each] for each in line])
            fits = list(line) == sorted(line) and [shall[each] for each in line] == sent.parts(whole)
            held = [whole] * len(line) if kind == "reduce_scatter" else got.parts(whole)
            fits = fits and [takes[each] for each in line] == held
        if not fits:
            return None
    most, count = max(map(size_of, takes.values())), len(lines(source, axes)[0])
    copies = 0
    if kind != "all_reduce" and (cut or not all(sent.view(box).straight for box in takes.values())):
        copies += most
    if kind == "all_to_all" and not all(got.view(box).straight for box in shall.values()):
        copies += most
    return Collective(
        kind,
        axes,
        count,
        tuple(high - low for low, high in has[rank]),
        within(takes[rank], has[rank]),
        takes == has,
        None if kind == "all_reduce" else sent.view(takes[rank]),
        got.view(shall[rank]) if kind == "all_to_all" else None,
        copies=copies,
        received=most * (count - 1) // count * (2 if kind == "all_reduce" else 1),
        reduction=reduction,
    )


def around(boxes: Sequence[Box]) -> Box:
    return tuple((min(low for low, _ in each), max(high for _, high in each)) for each in zip(*boxes))


def gather_of(
    source: Spec,
    axes: tuple[int, ...],
    has: dict[int, Box],
    shall: dict[int, Box],
    rank: int,
    some: bool,
) -> Collective | None:
    """some: whether parts may differ, see broadcasts."""
    takes = {each: common(box, shall[each]) for each, box in has.items()}
    kind: Kind = "all_gather"
    fold = fold_of(source, axes)
    for line in lines(source, axes):
        if len({shall[each] for each in line}) != 1:
            return None
        equal = [takes[each] for each in line] == fold.parts(shall[line[0]])
        if not equal or list(line) != sorted(line):
            kind = "broadcasts"
    (mine,) = [line for line in lines(source, axes) if rank in line]
    whole = shall[rank]
    shape, taken = tuple(high - low for low, high in has[rank]), within(takes[rank], has[rank])
    lacks = max(size_of(shall[each]) - size_of(takes[each]) for each in has)
    largest = max(map(size_of, shall.values()))
    if kind == "all_gather":
        straight = all(fold.view(box).straight for box in shall.values())
        return Collective(
            kind,
            axes,
            len(mine),
            shape,
            taken,
            takes == has,
            got=fold.view(whole),
            copies=0 if straight else largest,
            received=lacks,
        )
    if not some or len(axes) != 1:
        return None
    dim = source.placed[axes[0]].dim
    assert dim is not None
    straight = True  # all parts of all lines are pieces of memory
    for line in lines(source, axes):
        one = shall[line[0]]
        if not make_up([takes[each] for each in line if size_of(takes[each])], dim, one):
            return None
        alone = any(size_of(takes[each]) == size_of(one) for each in line)
        straight &= alone or math.prod(high - low for low, high in one[:dim]) == 1
    return Collective(
        "broadcasts",
        axes,
        len(mine),
        shape,
        taken,
        takes == has,
        parts=tuple((each, within(takes[each], whole)) for each in mine if size_of(takes[each])),
        copies=0 if straight else largest,
        received=lacks,
    )


def make_up(parts: list[Box], dim: int, whole: Box) -> bool:
    """Whether the parts are the whole, cut along one dimension."""
    at = whole[dim][0]
    for part in sorted(parts, key=lambda part: part[dim]):
        if part != (*whole[:dim], (at, part[dim][1]), *whole[dim + 1 :]):
            return False
        at = part[dim][1]
    return at == whole[dim][1]


# torch 2.13 has other names for them, and warns of these.
gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def room_of(which: Collective, out: torch.Tensor) -> torch.Tensor:
    """Where parts come one behind the other."""
    assert which.got is not None
    return out if which.got.straight else torch.empty_like(out)


def slot_of(room: torch.Tensor, ranks: Sequence[int]) -> torch.Tensor:
    """Of it, the part of this rank."""
    return room.view(len(ranks), -1)[ranks.index(dist.get_rank())]


def run_collective(
    which: Collective,
    given: torch.Tensor,
    out: torch.Tensor,
    group: Any,
    deadline: Deadline,
    room: torch.Tensor | None = None,
) -> None:
    """`group`: of the ranks along the axes. Both are dense.

    room: where what is given lies already: in its slot of an all-gather, or where it is added up.
    """
    given = given.view(which.shape)[which.taken]
    if which.kind == "cut":
        out.copy_(given)
        return
    ranks = dist.get_process_group_ranks(group)
    if which.kind == "broadcasts":
        run_broadcasts(which, given, out, group, deadline)
        return
    operation = OPERATIONS.get(which.reduction)
    if which.sent is not None:
        given = which.sent.of(given)
    try:
        if which.kind == "all_gather":
            if room is None:
                room = room_of(which, out)
                if not given.is_contiguous():
                    given = slot_of(room, ranks).view(given.shape).copy_(given)
            work = gather(room.view(-1), given.view(-1), group=group, async_op=True)
        elif which.kind == "all_reduce":
            if room is None:
                out.copy_(given)
            work = dist.all_reduce(out, operation, group=group, async_op=True)
        elif which.kind == "reduce_scatter":
            work = scatter(out.view(-1), given.reshape(-1), operation, group=group, async_op=True)
        else:
            room = room_of(which, out)
            into, given = (each.reshape(-1).view(torch.uint8) for each in (room, given))
            work = dist.all_to_all_single(into, given, group=group, async_op=True)
    except RuntimeError as error:
        raise peer_failed(ranks, error) from error
    deadline.wait(work, ranks)
    if which.got is not None and room is not None and room is not out:
        parts = which.got.of(out)
        parts.copy_(room.view(parts.shape))


def run_broadcasts(
    which: Collective, given: torch.Tensor, out: torch.Tensor, group: Any, deadline: Deadline
) -> None:
    """Each part goes from the rank that has it to all others, at the same time where the back-end can."""
    ranks, rank = dist.get_process_group_ranks(group), dist.get_rank()
    places = [(root, out[where]) for root, where in which.parts]
    memory = [
        place if place.is_contiguous() else torch.empty_like(place, memory_format=torch.contiguous_format)
        for _, place in places
    ]
    together = len(places) > 1 and group._get_backend(out.device).supports_coalescing
    try:
        if together:
            group._start_coalescing(out.device)
        works = []
        for (root, _), part in zip(places, memory):
            if root == rank:
                part.copy_(given)
            how = dist.BroadcastOptions()
            how.rootRank, how.rootTensor = ranks.index(root), 0
            works.append(group.broadcast([part.view(-1).view(torch.uint8)], how))
        if together:
            works = [group._end_coalescing(out.device)]
    except RuntimeError as error:
        raise peer_failed(ranks, error) from error
    for work in works:
        deadline.wait(work, ranks)
    for (_, place), part in zip(places, memory):
        if part is not place:
            place.copy_(part)
