# SPDX-License-Identifier: Apache-2.0
"""Takes a DTensor from one distribution to another, over one mesh or between two."""

from __future__ import annotations

import copy
import functools
import math
import re
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor.placement_types import Partial

from .._core import ReshardPlan, ReshardProgram, reshard_plan, reshard_program, reshard_resting
from ..errors import Infeasible, UsageError
from . import backends, casting, chains, native
from .grouped import STAGING, agree, longest_piece
from .layouts import DTYPES, Spec, contiguous_stride, end_of, local_shape, spec_for, spec_of
from .messages import Deadline, Links
from .running import (
    CHUNK,
    NCCL_BYTES_A_US,
    NCCL_STEP_US,
    Kind,
    bare,
    carrier,
    deadline_of,
    road_between,
)


@dataclass(frozen=True)
class Way:
    """What decides the program of every rank."""

    source: Spec
    target: Spec
    dtype: torch.dtype  # on the wire
    link: tuple[str, str]
    others: tuple[int, ...] = ()  # ranks that other arrays of the same program need


def reduction_of(source: Spec, target: Spec) -> str:
    both = {spec.reduction for spec in (source, target)} - {""}
    if len(both) > 1:
        raise Infeasible(f"summands of one kind cannot become those of another: {sorted(both)}")
    reduction = both.pop() if both else ""
    # An average is a sum, but for a factor: see scale_of.
    return "sum" if reduction == "avg" else reduction


def scale_of(source: Spec, target: Spec) -> float:
    """What the sum has to be multiplied by, where one end or the other holds averages."""
    scale = 1.0
    if source.reduction == "avg":
        scale /= source.summands
    if target.reduction == "avg":
        scale *= target.summands
    return scale


@functools.lru_cache(maxsize=1024)
def plan_of(way: Way, budget: int) -> ReshardPlan:
    reduction = reduction_of(way.source, way.target)
    if reduction and way.dtype not in DTYPES:
        raise Infeasible(f"elements of {way.dtype} cannot be added up")
    step, message = way.link
    return reshard_plan(
        list(way.source.shape),
        way.dtype.itemsize,
        DTYPES.get(way.dtype, "u8"),
        end_of(way.source),
        end_of(way.target),
        reduction=reduction,
        link=step,
        message_cost=message,
        others=list(way.others),
        budget=budget,
    )


WHOLE = 1 << 30
"""Bytes of the largest part of an array up to which messages that go in groups are not cut into pieces,
where no budget is given: staging is then about as large as the parts."""


def largest_part(ways: Sequence[Way]) -> int:
    parts = [
        (math.prod(local_shape(end, rank) or (0,)) * way.dtype.itemsize)
        for way in ways
        for end in (way.source, way.target)
        for rank in end.ranks
    ]
    return max(parts, default=0)


@functools.lru_cache(maxsize=256)
def program_of(
    ways: tuple[Way, ...], rank: int, budget: int | None, kind: Kind
) -> ReshardProgram:
    try:
        return program_within(ways, rank, budget, kind)
    except Infeasible as refusal:
        told = re.fullmatch(r"(.*); allow at least (\d+).*", str(refusal))
        if budget is None or told is None:
            raise
        enough = least_budget(ways, rank, max(budget + 1, int(told[2])), kind)
        raise Infeasible(f"{told[1]}; allow at least {enough} bytes") from None


def least_budget(ways: tuple[Way, ...], rank: int, budget: int, kind: Kind) -> int:
    """From that one on, about the first that does. Another budget leads to other plans, of which several
    arrays may need more together, and groups of messages want room for one to each rank."""
    while True:
        try:
            program_within(ways, rank, budget, kind)
            return budget
        except Infeasible:
            budget += max(1, budget // 32)


def program_within(
    ways: tuple[Way, ...], rank: int, budget: int | None, kind: Kind
) -> ReshardProgram:
    plans = [plan_of(way, budget or 0) for way in ways]
    # Beside what rests between rounds, messages are cut so that two a direction fit.
    rests = reshard_resting(plans)
    if kind == "memory":
        # Chunks lie in what ranks share; without a budget they need not be cut further.
        return reshard_program(plans, rank, budget or 0)
    if kind == "groups":
        if budget is None and largest_part(ways) <= WHOLE:
            return reshard_program(plans, rank)
        room = STAGING if budget is None else budget - rests
        return reshard_program(
            plans, rank, rests + max(1, 4 * longest_piece(room, len(plans[0].devices)))
        )
    return reshard_program(plans, rank, rests + 4 * CHUNK if budget is None else budget)


def wire_dtype(given: torch.dtype, wanted: torch.dtype, reduction: str) -> torch.dtype:
    """The narrower one travels, but summands are added up in the wider one."""
    narrow, wide = sorted((given, wanted), key=lambda dtype: dtype.itemsize)
    return wide if reduction else narrow


def dtensor(local: torch.Tensor, mesh: DeviceMesh, placements: Any, shape: Any) -> DTensor:
    size = torch.Size(shape)
    return DTensor.from_local(
        local, mesh, placements, run_check=False, shape=size, stride=contiguous_stride(size)
    )


def absent(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Any], dtype: torch.dtype
) -> DTensor:
    """A DTensor of a mesh that this rank is not in: what it passes to redistribute() and refit().

    Every rank of both meshes calls them, those that hold nothing yet as well.
    """
    if dist.get_rank() in spec_for(shape, mesh, placements).ranks:
        raise UsageError("this rank is in the mesh and holds a part of the array")
    nothing = torch.empty(0, dtype=dtype, device=mesh.device_type)
    return dtensor(nothing, mesh, placements, shape)


def redistribute(
    array: DTensor,
    mesh: DeviceMesh | None = None,
    placements: Sequence[Any] | None = None,
    *,
    dtype: torch.dtype | None = None,
    budget: int | None = None,
    timeout: float | None = None,
) -> DTensor:
    """The array as `placements` distribute it over `mesh`; a new DTensor.

    mesh: without it the array's own. Another one may have other ranks, another shape and order.
    placements: Shard, Replicate or Partial (sum, avg, min, max, product) for each dimension of the
    mesh; uneven shards as torch cuts them. Without them the array is replicated.
    dtype: of the result. The narrower of both types travels.
    budget: bytes that a rank may hold beside the array and the result.
    timeout: seconds until ranks that do not answer are given up: weft.PeerFailed on every other.
    Without it that of the process group.

    All ranks of both meshes call it, in the same order, with the default process group; ranks that
    are in neither need not. A rank outside the array's mesh passes an empty DTensor of that mesh, see
    absent(). Gradients are redistributed back, likewise on all ranks.
    """
    mesh = mesh or array.device_mesh
    placements = [Replicate()] * mesh.ndim if placements is None else placements
    wanted = dtype or array.dtype
    if torch.is_grad_enabled() and array.requires_grad:
        return _Redistribute.apply(array, mesh, tuple(placements), wanted, budget, timeout)
    return _redistribute(array, mesh, tuple(placements), wanted, budget, timeout)


Carry = Callable[[torch.Tensor, torch.Tensor, DeviceMesh, float | None], None]
"""From this rank's part, in the type that travels, to its part of the result; the mesh is that of both ends
where they have the same one."""


@dataclass(frozen=True)
class Ready:
    """One redistribution, prepared: what a call finds out that is the same in every other one."""

    result: DTensorSpec
    same: bool  # as it is
    given: int  # bytes of this rank's part, as they travel
    shape: tuple[int, ...]  # of this rank's part of the result
    travels: torch.dtype
    scale: float
    carry: Carry | None  # None: this rank is in neither mesh


READY = 1024
"""Redistributions of a process group that are kept prepared."""

prepared: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[Any, Ready]] = (
    weakref.WeakKeyDictionary()
)
"""By what decides all of it; another process group has other ranks."""


def ready_for(
    array: DTensor,
    mesh: DeviceMesh,
    placements: tuple[Any, ...],
    wanted: torch.dtype,
    budget: int | None,
    timeout: float | None,
) -> Ready:
    known = prepared.setdefault(backends.world(), {})
    key = (array._spec, mesh, placements, wanted, budget, array._local_tensor.device)
    ready = known.get(key)
    if ready is None:
        ready = prepare(array, mesh, placements, wanted, budget, timeout)
        if len(known) >= READY:
            del known[next(iter(known))]
        known[key] = ready
    return ready


def prepare(
    array: DTensor,
    mesh: DeviceMesh,
    placements: tuple[Any, ...],
    wanted: torch.dtype,
    budget: int | None,
    timeout: float | None,
) -> Ready:
    """All ranks of both meshes call it, when they see these ends first."""
    source, target = spec_of(array), spec_for(array.shape, mesh, placements)
    travels = wire_dtype(array.dtype, wanted, reduction_of(source, target))
    rank, device = dist.get_rank(), array._local_tensor.device
    before, after = local_shape(source, rank), local_shape(target, rank)
    same = source == target and wanted == array.dtype
    carry = None
    if not same and (before is not None or after is not None):
        carry = carry_for(source, target, travels, mesh, device, budget, timeout)
    # torch believes that a scalar is what its local part says.
    nothing = torch.empty((0,) if array.shape else (), dtype=wanted, device=device)
    return Ready(
        dtensor(nothing, mesh, placements, array.shape)._spec,
        same,
        0 if before is None else math.prod(before) * travels.itemsize,
        (0,) if after is None else after,
        travels,
        scale_of(source, target),
        carry,
    )


def carry_for(
    source: Spec,
    target: Spec,
    travels: torch.dtype,
    mesh: DeviceMesh,
    device: torch.device,
    budget: int | None,
    timeout: float | None,
) -> Carry:
    reduction = reduction_of(source, target)
    road = road_between((*source.ranks, *target.ranks), device, timeout)
    way = Way(source, target, travels, road.link(device))
    program = program_of((way,), dist.get_rank(), budget, road.kind())
    chain = None
    if road.near is None and budget is None:
        chain = collectives_for(way, road.groups)
    if chain is None or not has_groups(mesh):
        carry = carrier(program, road, device, [(travels, reduction)], timeout)
        return lambda given, out, _mesh, timeout: carry((given, out), timeout)
    # Collectives have no tags either.
    links = Links(deadline_of(device, timeout), program.fingerprint % (1 << 30))
    agree(program, links, device)

    def collectives(
        given: torch.Tensor, out: torch.Tensor, mesh: DeviceMesh, timeout: float | None
    ) -> None:
        def group_of(step: native.Collective) -> Any:
            return mesh.get_group(step.axes[0]) if len(step.axes) == 1 else backends.world()

        def deadline(group: Any) -> Deadline:
            return deadline_of(device, timeout, group)

        chains.run_chain(chain, given, out, group_of, deadline)

    return collectives


def collectives_for(way: Way, groups: bool) -> chains.Chain | None:
    """Those of the back-end that take the array there, where they are as good as the plan: no rank may receive
    more, but for what fills up parts that differ in size, nor hold more than what is sent and what is
    received, as with messages, but for rounding."""
    source, target, dtype = way.source, way.target, way.dtype
    reduction, rank = reduction_of(source, target), dist.get_rank()
    if groups:
        step, element = NCCL_STEP_US, dtype.itemsize / NCCL_BYTES_A_US
        chain = chains.chain_of(
            source, target, dtype, reduction, rank, dist.get_world_size(), step, element
        )
        if chain is None or chain.only_messages(len(source.ranks)):
            return None
        plan = plan_of(way, 0)
        messages = plan.time_us + plan.received / NCCL_BYTES_A_US * (chains.MESSAGES - 1)
        most = plan.received + chain.padding * dtype.itemsize
        if chain.received * dtype.itemsize > most or chain.price(step, element) > messages:
            return None
    else:
        alone = native.collective_of(source, target, dtype, reduction, rank)
        if alone is None:
            return None
        chain = chains.chained((source, target), [alone], rank)
    largest = largest_part((way,))
    room = 2 * largest + chains.rounded(largest) if largest <= WHOLE else 0
    return chain if chain.held * dtype.itemsize <= room else None


def has_groups(mesh: DeviceMesh) -> bool:
    try:
        mesh.get_all_groups()
    except RuntimeError:
        return False
    return True


def _redistribute(
    array: DTensor,
    mesh: DeviceMesh,
    placements: tuple[Any, ...],
    wanted: torch.dtype,
    budget: int | None,
    timeout: float | None,
) -> DTensor:
    ready = ready_for(array, mesh, placements, wanted, budget, timeout)
    local = bare(array)
    if ready.same:
        return made(local, ready)
    comes_as = wanted if casting.widens(ready.travels, wanted) else ready.travels
    result = torch.empty(ready.shape, dtype=comes_as, device=local.device)
    out = casting.room_in(result, ready.travels)
    if ready.carry is not None:
        given = local.to(ready.travels).contiguous() if ready.given else out[:0]
        if given.nbytes != ready.given:
            raise UsageError(
                f"this rank has {given.nbytes} bytes of an array of which its placements say {ready.given}"
            )
        ready.carry(given, out, mesh, timeout)
    if out is not result:
        casting.settle(out, result)
    scale = ready.scale
    if scale != 1.0:
        exact = result.is_floating_point() or result.is_complex()
        result = result.mul_(scale) if exact else result * scale
    return made(result.to(wanted), ready)


def made(local: torch.Tensor, ready: Ready) -> DTensor:
    """As DTensor.from_local would: only that its specification is known."""
    return DTensor(local, copy.copy(ready.result), requires_grad=False)


class _Redistribute(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any,
        array: DTensor,
        mesh: DeviceMesh,
        placements: tuple[Any, ...],
        wanted: torch.dtype,
        budget: int | None,
        timeout: float | None,
    ) -> DTensor:
        target = spec_for(array.shape, mesh, placements)
        if {spec_of(array).reduction, target.reduction} - {"", "sum"}:
            raise UsageError("only sums have gradients here: detach() the array first")
        ctx.back = (array.device_mesh, array.placements, array.dtype, budget, timeout)
        return _redistribute(array, mesh, placements, wanted, budget, timeout)

    @staticmethod
    def backward(ctx: Any, gradient: DTensor) -> Any:
        mesh, placements, dtype, budget, timeout = ctx.back
        # Every summand has the gradient of the sum.
        whole = tuple(Replicate() if isinstance(p, Partial) else p for p in placements)
        back = redistribute(gradient, mesh, whole, dtype=dtype, budget=budget, timeout=timeout)
        return back, None, None, None, None, None
