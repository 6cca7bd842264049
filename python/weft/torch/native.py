# SPDX-License-Identifier: Apache-2.0
"""Redistributions that are one collective of the back-end: summands along one dimension of a mesh that are
added up, and parts that are gathered. Nothing can do with less, and back-ends do more for their collectives
than for messages, so it runs as it is; copies before and after put in order what does not lie so."""

from __future__ import annotations

import math
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


Kind = Literal["all_reduce", "all_gather", "reduce_scatter"]


@dataclass(frozen=True)
class Collective:
    kind: Kind
    axis: int  # of the mesh: ranks along it take part
    dim: int  # of the array: parts lie along it
    shape: tuple[int, ...]  # of what this rank has
    taken: tuple[slice, ...]  # of that, what it takes part with
    copies: bool  # some ranks need memory of the size of a part
    reduction: str = ""


def kind_of(before: Placed, after: Placed, dtype: torch.dtype) -> tuple[Kind | None, int]:
    """Also the dimension of the array along which parts lie."""
    if before.dim is not None and after == Placed():
        return "all_gather", before.dim
    if before.reduce and dtype in ADDED and not after.reduce:
        return ("all_reduce", 0) if after.dim is None else ("reduce_scatter", after.dim)
    return None, 0


def lines(spec: Spec, axis: int) -> list[tuple[int, ...]]:
    """The ranks of the mesh along the axis, as often as there are."""
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


def inside(box: Box, other: Box) -> bool:
    return all(a <= low and high <= b for (low, high), (a, b) in zip(box, other))


def side_by_side(parts: list[Box], dim: int, whole: Box) -> bool:
    """Whether the parts are equal, and make up the whole one after the other."""
    low, high = whole[dim]
    size, rest = divmod(high - low, len(parts))
    return rest == 0 and all(
        part == (*whole[:dim], (low + i * size, low + (i + 1) * size), *whole[dim + 1 :])
        for i, part in enumerate(parts)
    )


def collective_of(
    source: Spec, target: Spec, dtype: torch.dtype, reduction: str, rank: int
) -> Collective | None:
    """The one that takes the array there, if one does; the same on all ranks.

    Of what ranks hold alike, each takes part with what it shall have of it alone.
    """
    if (source.sizes, source.ranks) != (target.sizes, target.ranks) or source.order or target.order:
        return None
    differ = [axis for axis, each in enumerate(source.placed) if each != target.placed[axis]]
    cut = [
        axis
        for axis in differ
        if source.placed[axis] == Placed() and target.placed[axis].dim is not None
    ]
    if len(differ) != len(cut) + 1:
        return None
    (axis,) = set(differ) - set(cut)
    placed = tuple((target if i in cut else source).placed[i] for i in range(len(source.sizes)))
    ends = source, replace(source, placed=placed), target
    boxes: list[dict[int, Box]] = []  # what ranks have, take part with, and shall have
    for end in ends:
        boxes.append({each: box for each in end.ranks if (box := box_of(end, each)) is not None})
        if len(boxes[-1]) != len(end.ranks):
            return None
    has, takes, shall = boxes
    if not all(inside(takes[each], has[each]) for each in has):
        return None
    kind, dim = kind_of(source.placed[axis], target.placed[axis], dtype)
    if kind is None:
        return None
    whole, part = (takes, shall) if kind == "reduce_scatter" else (shall, takes)
    for line in lines(source, axis):
        parts, (one, *others) = [part[each] for each in line], [whole[each] for each in line]
        if any(other != one for other in others):
            return None
        if kind == "all_reduce":
            fits = set(parts) == {one}
        else:  # a process group has its ranks in order, in which parts have to lie
            fits = line == tuple(sorted(line)) and side_by_side(parts, dim, one)
        if not fits:
            return None
    return Collective(
        kind,
        axis,
        dim,
        tuple(high - low for low, high in has[rank]),
        tuple(slice(low - at, high - at) for (low, high), (at, _) in zip(takes[rank], has[rank])),
        bool(cut) or dim > 0,
        reduction,
    )


# torch 2.13 has other names for them, and warns of these.
gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def run_collective(
    which: Collective, given: torch.Tensor, out: torch.Tensor, group: Any, deadline: Deadline
) -> None:
    """`group`: of the ranks along the axis. Both are dense."""
    ranks = dist.get_process_group_ranks(group)
    given = given.view(which.shape)[which.taken]
    outermost = math.prod(given.shape[: which.dim]) == 1
    into = out
    try:
        if which.kind == "all_gather":
            into = out if outermost else torch.empty_like(out)
            work = gather(into.view(-1), given.reshape(-1), group=group, async_op=True)
        elif which.kind == "all_reduce":
            out.copy_(given)
            work = dist.all_reduce(out, OPERATIONS[which.reduction], group=group, async_op=True)
        else:
            if not outermost:
                given = given.unflatten(which.dim, (len(ranks), -1)).movedim(which.dim, 0)
            operation = OPERATIONS[which.reduction]
            work = scatter(out.view(-1), given.reshape(-1), operation, group=group, async_op=True)
    except RuntimeError as error:
        raise peer_failed(ranks, error) from error
    deadline.wait(work, ranks)
    if into is not out:
        parts = out.unflatten(which.dim, (len(ranks), -1)).movedim(which.dim, 0)
        parts.copy_(into.view(parts.shape))
