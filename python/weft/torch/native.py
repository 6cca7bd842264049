# SPDX-License-Identifier: Apache-2.0
"""Redistributions that are one collective of the back-end: summands along one dimension of a mesh, or all
of them, that are added up, and parts that are gathered. Back-ends do more for their collectives than for
messages, so it runs as it is; copies before and after put in order what does not lie so, and fill up parts
that differ in size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.distributed as dist

from .folds import (
    Box,
    Fold,
    View,
    around,
    boxes_of,
    common,
    fold_of,
    make_up,
    shape_of,
    size_of,
    within,
)
from .layouts import Placed, Spec
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
class Collective:
    kind: Kind
    axes: tuple[int, ...]  # of the mesh: ranks along them take part; one of them, or all
    ranks: int  # that take part together
    shape: tuple[int, ...]  # of what this rank has
    taken: tuple[slice, ...]  # of that, what it takes part with
    all_taken: bool  # on all ranks
    sent: View | None = None  # slots of what it takes part with
    got: View | None = None  # slots of what comes out
    # Of broadcasts: the rank that each part comes from, and where it belongs.
    parts: tuple[tuple[int, tuple[slice, ...]], ...] = ()
    copies: int = 0  # elements that are held beside both ends, at most, on any rank
    received: tuple[int, ...] = ()  # elements, by each rank
    padding: int = 0  # elements, at most, that fill up the slots of a line
    splits: tuple[tuple[int, ...], ...] = ()  # of all-to-alls of unequal parts: what is got, and sent
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
    return Collective("cut", (), 1, shape_of(has[rank]), within(shall[rank], has[rank]), False)


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
    slots: dict[int, int | None] = {}
    padding = 0
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
        if kind == "reduce_scatter":
            slot = size_of(shall[line[0]])  # the first part is the largest
            padding = max(padding, slot * len(line) - size_of(whole))
            slots.update((each, slot) for each in line)
    if padding and world is None:
        return None
    (mine,) = [line for line in lines(source, axes) if rank in line]
    count, most, copies = len(mine), max(map(size_of, takes.values())), 0
    out_of = into = None
    splits: list[tuple[int, ...]] = []
    if kind != "all_reduce":
        out_of = sent.view(shape_of(takes[rank]), slots.get(rank))
        if cut or not all_straight(sent, takes, slots):
            copies += most + padding
    if kind == "all_to_all":
        into = got.view(shape_of(shall[rank]))
        if not all_straight(got, shall, slots):
            copies += max(map(size_of, shall.values()))
        if any(len({shape_of(end[each]) for each in mine}) > 1 for end in (takes, shall)):
            splits = [
                tuple(size_of(common(takes[one], shall[other])) for one, other in pairs)
                for pairs in ([(each, rank) for each in mine], [(rank, each) for each in mine])
            ]
        received = [size_of(shall[each]) - size_of(common(takes[each], shall[each])) for each in has]
    elif kind == "reduce_scatter":
        received = [size_of(box) * (count - 1) for box in shall.values()]
    else:
        received = [size_of(box) * (count - 1) // count * 2 for box in takes.values()]
    return Collective(
        kind,
        axes,
        count,
        shape_of(has[rank]),
        within(takes[rank], has[rank]),
        takes == has,
        out_of,
        into,
        copies=copies,
        received=tuple(received),
        padding=padding,
        splits=tuple(splits),
        reduction=reduction,
    )


def all_straight(fold: Fold, wholes: dict[int, Box], slots: Mapping[int, int | None]) -> bool:
    shapes = {(shape_of(box), slots.get(rank)) for rank, box in wholes.items()}
    return all(fold.view(shape, slot).straight for shape, slot in shapes)


def gather_of(
    source: Spec,
    axes: tuple[int, ...],
    has: dict[int, Box],
    shall: dict[int, Box],
    rank: int,
    some: bool,
) -> Collective | None:
    """some: whether parts may differ. They are filled up to one size then: a ring of all is faster than a
    broadcast of each, unless much would have to be filled up and nothing be put in order."""
    takes = {each: common(box, shall[each]) for each, box in has.items()}
    fold = fold_of(source, axes)
    cut, padding = True, 0  # cut: into the parts of the fold
    slots: dict[int, int] = {}
    for line in lines(source, axes):
        whole = shall[line[0]]
        if any(shall[each] != whole for each in line):
            return None
        cut &= [takes[each] for each in line] == fold.parts(whole) and list(line) == sorted(line)
        slot = size_of(takes[line[0]])  # the first part is the largest
        padding = max(padding, slot * len(line) - size_of(whole))
        slots.update((each, slot) for each in line)
    (mine,) = [line for line in lines(source, axes) if rank in line]
    largest = max(map(size_of, shall.values()))
    either = Collective(
        "all_gather",
        axes,
        len(mine),
        shape_of(has[rank]),
        within(takes[rank], has[rank]),
        takes == has,
        received=tuple(size_of(shall[each]) - size_of(takes[each]) for each in has),
    )
    straight = in_pieces(source, axes[0], takes, shall) if some and len(axes) == 1 else None
    if cut and (not padding or (some and not (straight and 8 * padding > largest))):
        return replace(
            either,
            got=fold.view(shape_of(shall[rank]), slots[rank]),
            copies=0 if all_straight(fold, shall, slots) else largest + padding,
            padding=padding,
        )
    if straight is None:
        return None
    parts = [(each, within(takes[each], shall[rank])) for each in mine if size_of(takes[each])]
    copies = 0 if straight else largest
    return replace(either, kind="broadcasts", parts=tuple(parts), copies=copies)


def in_pieces(
    source: Spec, axis: int, takes: dict[int, Box], shall: dict[int, Box]
) -> bool | None:
    """Whether all parts are pieces of the memory of what they make up along the axis; None: they do not."""
    dim = source.placed[axis].dim
    assert dim is not None
    straight = True
    for line in lines(source, (axis,)):
        whole = shall[line[0]]
        if not make_up([takes[each] for each in line if size_of(takes[each])], dim, whole):
            return None
        alone = any(size_of(takes[each]) == size_of(whole) for each in line)
        straight &= alone or math.prod(shape_of(whole[:dim])) == 1
    return straight


# torch 2.13 has other names for them, and warns of these.
gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def room_of(which: Collective, out: torch.Tensor) -> torch.Tensor:
    """Where slots come one behind the other."""
    assert which.got is not None
    return out.view(-1) if which.got.straight else out.new_empty(which.got.total)


def slot_of(room: torch.Tensor, ranks: Sequence[int]) -> torch.Tensor:
    """Of it, that of this rank."""
    return room.view(len(ranks), -1)[ranks.index(dist.get_rank())]


def slots_from(view: View, array: torch.Tensor) -> torch.Tensor:
    if view.straight:
        return array.contiguous().view(-1)
    room = array.new_empty(view.total)
    for part, slot in view.pairs(array, room):
        slot.copy_(part)
    return room


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
    if which.kind == "broadcasts":
        run_broadcasts(which, given, out, group, deadline)
        return
    ranks, operation = dist.get_process_group_ranks(group), OPERATIONS.get(which.reduction)
    sent, got = which.sent, which.got
    rooms = [view.total for view in (sent, got) if view is not None]
    if not which.splits and not any((out.numel(), *rooms)):
        return  # none of these ranks has anything
    result = out.view(-1)
    try:
        if which.kind == "all_reduce":
            if room is None:
                out.copy_(given)
            work = dist.all_reduce(out, operation, group=group, async_op=True)
        elif which.kind == "reduce_scatter":
            assert sent is not None
            parts = slots_from(sent, given)
            if result.numel() < sent.slot:  # it comes where this rank's summand was
                result = slot_of(parts, ranks)
            work = scatter(result, parts, operation, group=group, async_op=True)
        elif which.kind == "all_gather":
            assert got is not None
            mine, there = given, room is not None
            room = room_of(which, out) if room is None else room
            if there or not given.is_contiguous() or given.numel() < got.slot:
                mine = slot_of(room, ranks)
                if not there:
                    mine[: given.numel()].view(given.shape).copy_(given)
            work = gather(room, mine.view(-1), group=group, async_op=True)
        else:
            assert sent is not None
            room = room_of(which, out)
            into, parts = (each.view(torch.uint8) for each in (room, slots_from(sent, given)))
            sizes = [[n * out.itemsize for n in split] for split in which.splits]
            work = dist.all_to_all_single(into, parts, *sizes, group=group, async_op=True)
    except RuntimeError as error:
        raise peer_failed(ranks, error) from error
    deadline.wait(work, ranks)
    if got is not None and room is not None and not got.straight:
        for part, slot in got.pairs(out, room):
            part.copy_(slot)
    elif result.numel() > out.numel():
        out.view(-1).copy_(result[: out.numel()])


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
