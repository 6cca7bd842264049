# SPDX-License-Identifier: Apache-2.0
"""Redistributions that are a single collective of the back-end.

A redistribution can be one collective in two cases: the placement changes along only one dimension
of the mesh, or it changes along all dimensions and the same row of this table applies to each of
them. In the second case the default process group runs the collective.

    before      after       collective
    partial     replicated  all-reduce
    partial     sharded     reduce-scatter
    sharded     replicated  all-gather, or a broadcast of each part
    sharded     sharded     all-to-all

Back-ends run their own collectives faster than messages with the same data. collective_of() finds
the collective, and run_collective() runs it. Collectives work on buffers in which all parts lie one
after the other, each in a slot of the same size. So copies before or after a collective put parts
in order, and parts that are smaller than their slot are padded.

A mesh dimension that is replicated before and sharded after needs no communication: each rank takes
part only with the piece that it will need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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

# Element types that every back-end can add up.
ADDED = {
    torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int8, torch.uint8, torch.int32, torch.int64,
}  # fmt: skip


Kind = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcasts", "cut"]
"""In a gather by "broadcasts", one rank that has a part broadcasts it. This works for parts of
different size, and for parts that only some of the ranks have. In a "cut", every rank already has
the part that it needs, so nothing is sent."""

Line = tuple[int, ...]
"""The ranks that take part in one collective: a line of the
mesh along one dimension, or all ranks."""

Boxes = Mapping[int, Box]
"""A box for each rank of the mesh."""


@dataclass(frozen=True)
class Collective:
    """One collective, from the point of view of one rank."""

    kind: Kind
    axes: tuple[int, ...]  # dimensions of the mesh along which ranks take part: one, or all
    ranks: int  # number of ranks that take part together
    shape: tuple[int, ...]  # shape of this rank's part before the collective
    taken: tuple[slice, ...]  # the piece of that part that the rank gives to the collective
    all_taken: bool  # every rank gives its whole part to the collective
    sent: View | None = None  # slots of the input
    got: View | None = None  # slots of the output
    # For broadcasts: the rank that sends each part, and the part's place in the output.
    parts: tuple[tuple[int, tuple[slice, ...]], ...] = ()
    copies: int = 0  # elements of memory beside input and output; maximum over the ranks
    received: tuple[int, ...] = ()  # elements that each rank receives
    padding: int = 0  # elements of padding in all slots together; maximum over the lines
    # For an all-to-all of parts that differ in size: elements to
    # receive from and to send to each rank.
    splits: tuple[tuple[int, ...], ...] = ()
    reduction: str = ""


def kind_of(before: Sequence[Placed], after: Sequence[Placed], dtype: torch.dtype) -> Kind | None:
    """The kind of collective that changes the placements `before` into `after`; None if there is
    none."""
    was_sharded, is_sharded = (all(each.dim is not None for each in end) for end in (before, after))
    replicated = set(after) == {Placed()}
    if was_sharded:
        if replicated:
            return "all_gather"
        return "all_to_all" if is_sharded and len(before) == 1 else None
    if dtype not in ADDED or not all(each.reduce for each in before):
        return None
    if replicated:
        return "all_reduce"
    return "reduce_scatter" if is_sharded else None


def lines(spec: Spec, axes: tuple[int, ...]) -> list[Line]:
    """All lines of the mesh along these axes, which are one
    dimension of the mesh or all of them."""
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
    """Whether both layouts are on the same mesh and both are sharded in the order of its
    dimensions."""
    same = (source.sizes, source.ranks) == (target.sizes, target.ranks)
    return same and not source.order and not target.order


def cut_of(source: Spec, target: Spec, rank: int) -> Collective | None:
    """A step without communication, if every rank already has the part that it needs."""
    has, wants = boxes_of(source), boxes_of(target)
    reduces = [[each.reduce for each in end.placed] for end in (source, target)]
    if not alike(source, target) or has is None or wants is None or reduces[0] != reduces[1]:
        return None
    if any(common(has[each], wants[each]) != wants[each] for each in has):
        return None
    return Collective("cut", (), 1, shape_of(has[rank]), within(wants[rank], has[rank]), False)


@dataclass(frozen=True)
class Change:
    """A redistribution that may be one collective, from the point of view of one rank."""

    source: Spec
    target: Spec
    reduction: str
    axes: tuple[int, ...]  # dimensions of the mesh along which the collective runs
    cut: tuple[int, ...]  # dimensions of the mesh that are replicated before and sharded after
    has: Boxes  # what each rank has before the redistribution
    wants: Boxes  # what each rank needs after the redistribution
    rank: int
    uneven: bool  # parts may be padded, or broadcast by the ranks that have them

    @cached_property
    def lines(self) -> list[Line]:
        return lines(self.source, self.axes)

    @cached_property
    def line(self) -> Line:
        """The line of this rank."""
        (mine,) = [line for line in self.lines if self.rank in line]
        return mine

    def taken(self) -> Boxes | None:
        """For each rank, the piece of its part that it gives to a reduction or exchange. The cut
        dimensions decide which piece that is. None if some rank does not have its piece."""
        placed = tuple(
            (self.target if axis in self.cut else self.source).placed[axis]
            for axis in range(len(self.source.sizes))
        )
        takes = boxes_of(replace(self.source, placed=placed))
        if takes is None or any(common(box, self.has[each]) != box for each, box in takes.items()):
            return None
        return takes

    def collective(
        self, kind: Kind, takes: Boxes, received: Sequence[int], **more: Any
    ) -> Collective:
        return Collective(
            kind,
            self.axes,
            len(self.line),
            shape_of(self.has[self.rank]),
            within(takes[self.rank], self.has[self.rank]),
            takes == self.has,
            received=tuple(received),
            **more,
        )


def collective_of(
    source: Spec,
    target: Spec,
    dtype: torch.dtype,
    reduction: str,
    rank: int,
    world: int | None = None,
) -> Collective | None:
    """The collective that does this redistribution; None if no single collective does it. All ranks
    get the same answer.

    world: the number of all ranks. If given, a collective of all ranks of the mesh is allowed, and
    so are parts of different size.
    """
    if not alike(source, target):
        return None
    axes, cut = changed_axes(source, target)
    together = world is not None and source.ranks == tuple(range(world))
    if len(axes) != 1 and not (together and len(axes) == len(source.sizes) > 1):
        return None
    before, after = ([end.placed[axis] for axis in axes] for end in (source, target))
    kind = kind_of(before, after, dtype)
    has, wants = boxes_of(source), boxes_of(target)
    if kind is None or has is None or wants is None:
        return None
    change = Change(source, target, reduction, axes, cut, has, wants, rank, world is not None)
    return MAKERS[kind](change)


def changed_axes(source: Spec, target: Spec) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The mesh dimensions whose placements change, as two tuples. The first has the dimensions that
    need communication. The second has the cut dimensions, which are replicated before and sharded
    after."""
    axes: list[int] = []
    cut: list[int] = []
    for axis, (before, after) in enumerate(zip(source.placed, target.placed)):
        if before != after:
            only_cut = before == Placed() and after.dim is not None
            (cut if only_cut else axes).append(axis)
    return tuple(axes), tuple(cut)


def all_reduce_of(change: Change) -> Collective | None:
    takes = change.taken()
    if takes is None:
        return None
    for line in change.lines:
        if len({takes[each] for each in line} | {change.wants[each] for each in line}) != 1:
            return None
    count = len(change.line)
    # A ring all-reduce is a reduce-scatter and an all-gather.
    received = [size_of(box) * (count - 1) // count * 2 for box in takes.values()]
    return change.collective("all_reduce", takes, received, reduction=change.reduction)


def in_order(line: Line) -> bool:
    """Whether the ranks of the line are in ascending order. The ranks of a process group are, and
    the parts of a line must be in the order of its process group."""
    return list(line) == sorted(line)


def reduce_scatter_of(change: Change) -> Collective | None:
    takes, wants, fold = change.taken(), change.wants, fold_of(change.target, change.axes)
    if takes is None:
        return None
    slots: dict[int, int | None] = {}
    padding = 0
    for line in change.lines:
        whole = around([takes[each] for each in line])
        if not in_order(line) or [wants[each] for each in line] != fold.parts(whole):
            return None
        if any(takes[each] != whole for each in line):
            return None
        slot = size_of(wants[line[0]])  # the first part is the largest
        padding = max(padding, slot * len(line) - size_of(whole))
        slots.update((each, slot) for each in line)
    if padding and not change.uneven:
        return None
    rank, count = change.rank, len(change.line)
    in_place = not change.cut and all_straight(fold, takes, slots)
    return change.collective(
        "reduce_scatter",
        takes,
        [size_of(box) * (count - 1) for box in wants.values()],
        sent=fold.view(shape_of(takes[rank]), slots[rank]),
        copies=0 if in_place else largest(takes) + padding,
        padding=padding,
        reduction=change.reduction,
    )


def all_to_all_of(change: Change) -> Collective | None:
    takes, wants = change.taken(), change.wants
    if takes is None or not change.uneven:
        return None
    sent, got = fold_of(change.target, change.axes), fold_of(change.source, change.axes)
    for line in change.lines:
        whole = around([takes[each] for each in line])
        if not in_order(line) or [wants[each] for each in line] != sent.parts(whole):
            return None
        if [takes[each] for each in line] != got.parts(whole):
            return None
    copies = 0
    if change.cut or not all_straight(sent, takes, {}):
        copies += largest(takes)
    if not all_straight(got, wants, {}):
        copies += largest(wants)
    rank = change.rank
    return change.collective(
        "all_to_all",
        takes,
        [size_of(wants[each]) - size_of(common(takes[each], wants[each])) for each in change.has],
        sent=sent.view(shape_of(takes[rank])),
        got=got.view(shape_of(wants[rank])),
        copies=copies,
        splits=splits_of(change, takes),
        reduction=change.reduction,
    )


def splits_of(change: Change, takes: Boxes) -> tuple[tuple[int, ...], ...]:
    """The elements that this rank receives from and sends to each rank of its line. Empty if all
    parts have the same size, because the all-to-all then needs no sizes."""
    line, wants, rank = change.line, change.wants, change.rank
    if all(len({shape_of(boxes[each]) for each in line}) == 1 for boxes in (takes, wants)):
        return ()
    return (
        tuple(size_of(common(takes[each], wants[rank])) for each in line),
        tuple(size_of(common(takes[rank], wants[each])) for each in line),
    )


def largest(boxes: Boxes) -> int:
    return max(map(size_of, boxes.values()))


def all_straight(fold: Fold, wholes: Boxes, slots: Mapping[int, int | None]) -> bool:
    """Whether on every rank the memory of the whole is already the buffer of slots."""
    shapes = {(shape_of(box), slots.get(rank)) for rank, box in wholes.items()}
    return all(fold.view(shape, slot).straight for shape, slot in shapes)


def gather_of(change: Change) -> Collective | None:
    """An all-gather if parts have equal slots, otherwise a broadcast of each part.

    If parts differ in size and that is allowed, they are padded, because one ring over all ranks is
    faster than several broadcasts. Broadcasts are used only if more than an eighth of the data
    would be padding and if broadcasts need no copies.
    """
    has, wants, fold = change.has, change.wants, fold_of(change.source, change.axes)
    takes = {each: common(box, wants[each]) for each, box in has.items()}
    regular, padding = True, 0  # regular: the i-th rank of each line has the i-th part of the fold
    slots: dict[int, int | None] = {}
    for line in change.lines:
        whole = wants[line[0]]
        if any(wants[each] != whole for each in line):
            return None
        regular &= [takes[each] for each in line] == fold.parts(whole) and in_order(line)
        slot = size_of(takes[line[0]])  # the first part is the largest
        padding = max(padding, slot * len(line) - size_of(whole))
        slots.update((each, slot) for each in line)
    by_broadcasts = change.uneven and len(change.axes) == 1
    contiguous = contiguous_parts(change, takes) if by_broadcasts else None
    much_padding = bool(contiguous) and 8 * padding > largest(wants)
    if regular and (not padding or (change.uneven and not much_padding)):
        return all_gather_of(change, takes, fold, slots, padding)
    return None if contiguous is None else broadcasts_of(change, takes, contiguous)


def received_by_gather(change: Change, takes: Boxes) -> list[int]:
    return [size_of(change.wants[each]) - size_of(takes[each]) for each in change.has]


def all_gather_of(
    change: Change, takes: Boxes, fold: Fold, slots: Mapping[int, int | None], padding: int
) -> Collective:
    wants, rank = change.wants, change.rank
    return change.collective(
        "all_gather",
        takes,
        received_by_gather(change, takes),
        got=fold.view(shape_of(wants[rank]), slots[rank]),
        copies=0 if all_straight(fold, wants, slots) else largest(wants) + padding,
        padding=padding,
    )


def broadcasts_of(change: Change, takes: Boxes, contiguous: bool) -> Collective:
    wants, rank = change.wants, change.rank
    parts = [
        (each, within(takes[each], wants[rank])) for each in change.line if size_of(takes[each])
    ]
    return change.collective(
        "broadcasts",
        takes,
        received_by_gather(change, takes),
        parts=tuple(parts),
        copies=0 if contiguous else largest(wants),
    )


def contiguous_parts(change: Change, takes: Boxes) -> bool | None:
    """Whether on every line each part is contiguous in the memory of the whole that the parts make
    up. None if the parts of some line do not make up the whole,
    so that they cannot be broadcast."""
    (axis,) = change.axes
    dim = change.source.placed[axis].dim
    assert dim is not None
    contiguous = True
    for line in change.lines:
        whole = change.wants[line[0]]
        if not make_up([takes[each] for each in line if size_of(takes[each])], dim, whole):
            return None
        alone = any(size_of(takes[each]) == size_of(whole) for each in line)
        contiguous &= alone or math.prod(shape_of(whole[:dim])) == 1
    return contiguous


MAKERS: dict[Kind, Callable[[Change], Collective | None]] = {
    "all_reduce": all_reduce_of,
    "reduce_scatter": reduce_scatter_of,
    "all_gather": gather_of,
    "all_to_all": all_to_all_of,
}


# torch 2.13 renamed these functions and warns about the old names.
gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


@dataclass
class Call:
    """One execution of a collective."""

    which: Collective
    given: torch.Tensor  # the piece with which this rank takes part
    out: torch.Tensor
    group: Any
    ranks: list[int]  # ranks of the group
    prefilled: torch.Tensor | None  # see run_collective()


@dataclass
class Started:
    """A collective in flight."""

    work: Any
    result: torch.Tensor | None = None  # what to copy into the output at the end, if anything
    keeps: tuple[torch.Tensor, ...] = ()  # memory that must stay alive until the end


def slots_for(view: View, out: torch.Tensor) -> torch.Tensor:
    """Memory for the slots of the output: the output itself, if it is already their buffer."""
    return out.view(-1) if view.straight else out.new_empty(view.total)


def slot_of(slots: torch.Tensor, ranks: Sequence[int]) -> torch.Tensor:
    """This rank's slot."""
    return slots.view(len(ranks), -1)[ranks.index(dist.get_rank())]


def slots_from(view: View, array: torch.Tensor) -> torch.Tensor:
    """The slots of an input: its own memory, if it is already their buffer, otherwise a copy."""
    if view.straight:
        return array.contiguous().view(-1)
    slots = array.new_empty(view.total)
    for part, slot in view.pairs(array, slots):
        slot.copy_(part)
    return slots


def start_all_reduce(call: Call) -> Started:
    if call.prefilled is None:
        call.out.copy_(call.given)
    operation = OPERATIONS.get(call.which.reduction)
    return Started(dist.all_reduce(call.out, operation, group=call.group, async_op=True))


def start_reduce_scatter(call: Call) -> Started:
    sent = call.which.sent
    assert sent is not None
    parts, result = slots_from(sent, call.given), call.out.view(-1)
    if result.numel() < sent.slot:
        # The output is shorter than a slot: receive into this rank's slot of the input.
        result = slot_of(parts, call.ranks)
    operation = OPERATIONS.get(call.which.reduction)
    work = scatter(result, parts, operation, group=call.group, async_op=True)
    return Started(work, result, (parts,))


def start_all_gather(call: Call) -> Started:
    got, given, mine = call.which.got, call.given, call.given
    assert got is not None
    slots = slots_for(got, call.out) if call.prefilled is None else call.prefilled
    if call.prefilled is not None:
        mine = slot_of(slots, call.ranks)
    elif not given.is_contiguous() or given.numel() < got.slot:
        mine = slot_of(slots, call.ranks)
        mine[: given.numel()].view(given.shape).copy_(given)
    work = gather(slots, mine.view(-1), group=call.group, async_op=True)
    return Started(work, slots, (mine,))


def start_all_to_all(call: Call) -> Started:
    sent, got, out = call.which.sent, call.which.got, call.out
    assert sent is not None and got is not None
    slots = slots_for(got, out)
    # As bytes, so that it works for every element type.
    into, parts = (each.view(torch.uint8) for each in (slots, slots_from(sent, call.given)))
    sizes = [[count * out.itemsize for count in split] for split in call.which.splits]
    work = dist.all_to_all_single(into, parts, *sizes, group=call.group, async_op=True)
    return Started(work, slots, (parts,))


STARTS: dict[Kind, Callable[[Call], Started]] = {
    "all_reduce": start_all_reduce,
    "reduce_scatter": start_reduce_scatter,
    "all_gather": start_all_gather,
    "all_to_all": start_all_to_all,
}


def run_collective(
    which: Collective,
    given: torch.Tensor,
    out: torch.Tensor,
    group: Any,
    deadline: Deadline,
    prefilled: torch.Tensor | None = None,
) -> None:
    """Run the collective on this rank.

    given, out: this rank's part before and after. Both tensors are contiguous.
    group: the process group of the ranks along the axes.
    prefilled: memory that already holds the contents of `given` where the collective needs them: in
    this rank's slot of an all-gather, or in the output of an all-reduce.
    """
    given = given.view(which.shape)[which.taken]
    if which.kind == "cut":
        out.copy_(given)
    elif which.kind == "broadcasts":
        run_broadcasts(which, given, out, group, deadline)
    elif which.splits or has_elements(which, out):
        call = Call(which, given, out, group, dist.get_process_group_ranks(group), prefilled)
        try:
            started = STARTS[which.kind](call)
        except RuntimeError as error:
            raise peer_failed(call.ranks, error) from error
        deadline.wait(started.work, call.ranks)
        finish(which, started.result, out)


def has_elements(which: Collective, out: torch.Tensor) -> bool:
    """Whether any rank of the line has elements; otherwise the collective is skipped."""
    views = [view for view in (which.sent, which.got) if view is not None]
    return any((out.numel(), *(view.total for view in views)))


def finish(which: Collective, result: torch.Tensor | None, out: torch.Tensor) -> None:
    """Copy the result into the output, unless it is there already."""
    if result is None:
        return
    if which.got is None:  # of a reduce-scatter: one slot, which may end with padding
        if result.numel() > out.numel():
            out.view(-1).copy_(result[: out.numel()])
    elif not which.got.straight:
        for part, slot in which.got.pairs(out, result):
            part.copy_(slot)


def run_broadcasts(
    which: Collective, given: torch.Tensor, out: torch.Tensor, group: Any, deadline: Deadline
) -> None:
    """Broadcast each part from the rank that has it, all at the same time if the back-end can."""
    ranks, rank = dist.get_process_group_ranks(group), dist.get_rank()
    places = [(root, out[where]) for root, where in which.parts]
    memory = [
        place
        if place.is_contiguous()
        else torch.empty_like(place, memory_format=torch.contiguous_format)
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
