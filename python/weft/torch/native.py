# SPDX-License-Identifier: Apache-2.0
"""Redistributions that are one collective of the back-end: summands along one dimension of a mesh that are
added up, and parts side by side that are gathered. Nothing can do with less, so it runs as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.distributed as dist

from .layouts import Spec, local_shape
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


@dataclass(frozen=True)
class Collective:
    kind: Literal["all_reduce", "all_gather", "reduce_scatter"]
    axis: int  # of the mesh: ranks along it take part
    reduction: str = ""


def lines(spec: Spec, axis: int) -> list[tuple[int, ...]]:
    """The ranks of the mesh along the axis, as often as there are."""
    step = math.prod(spec.sizes[axis + 1 :])
    length = step * spec.sizes[axis]
    return [
        spec.ranks[first + at : first + length : step]
        for first in range(0, len(spec.ranks), length)
        for at in range(step)
    ]


def side_by_side(cut: Spec, axis: int, whole: Spec) -> bool:
    """Whether the parts of `cut` along `axis` are equal, and make up those of `whole` one after the other.

    In the order of ranks, which is that of a process group.
    """
    dim = cut.placed[axis].dim
    assert dim is not None
    same = [each for each, one in enumerate(cut.placed) if one.dim == dim]
    if axis != same[-1] or any(cut.placed[each].split > 1 for each in same):
        return False
    for line in lines(cut, axis):
        shape = local_shape(whole, line[0]) or ()
        if line != tuple(sorted(line)) or math.prod(shape[:dim]) != 1 or shape[dim] % len(line):
            return False
    return True


def collective_of(
    source: Spec, target: Spec, dtype: torch.dtype, reduction: str
) -> Collective | None:
    """The one that takes the array there by itself, if there is one; the same on all ranks."""
    if (source.sizes, source.ranks) != (target.sizes, target.ranks) or source.order or target.order:
        return None
    differ = [axis for axis, each in enumerate(source.placed) if each != target.placed[axis]]
    if len(differ) != 1 or any(
        0 in (local_shape(end, rank) or ()) for end in (source, target) for rank in end.ranks
    ):
        return None
    axis = differ[0]
    before, after = source.placed[axis], target.placed[axis]
    copies = after.dim is None and not after.reduce
    if before.dim is not None and copies:
        return Collective("all_gather", axis) if side_by_side(source, axis, target) else None
    if not before.reduce or dtype not in ADDED:
        return None
    if copies:
        return Collective("all_reduce", axis, reduction)
    fits = after.dim is not None and side_by_side(target, axis, source)
    return Collective("reduce_scatter", axis, reduction) if fits else None


# torch 2.13 has other names for them, and warns of these.
gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def run_collective(
    which: Collective, given: torch.Tensor, out: torch.Tensor, group: Any, deadline: Deadline
) -> None:
    """`group`: of the ranks along the axis. Both are dense."""
    ranks = dist.get_process_group_ranks(group)
    try:
        if which.kind == "all_gather":
            work = gather(out.view(-1), given.view(-1), group=group, async_op=True)
        elif which.kind == "all_reduce":
            out.copy_(given)
            work = dist.all_reduce(out, OPERATIONS[which.reduction], group=group, async_op=True)
        else:
            operation = OPERATIONS[which.reduction]
            work = scatter(out.view(-1), given.view(-1), operation, group=group, async_op=True)
    except RuntimeError as error:
        raise peer_failed(ranks, error) from error
    deadline.wait(work, ranks)
