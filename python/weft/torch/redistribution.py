# SPDX-License-Identifier: Apache-2.0
"""Redistributes a DTensor: to other placements on its mesh, or to another mesh.

The first call for a pair of layouts plans the move and prepares it (prepare()); later calls only
run it. A move runs either as a chain of the back-end's own collectives, if that is as good as the
plan (collectives_for()), or as the messages of the plan.
"""

from __future__ import annotations

import copy
import functools
import math
import re
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor.placement_types import Partial

from .._core import ReshardPlan, ReshardProgram, reshard_plan, reshard_program, reshard_resting
from ..errors import Infeasible, InternalError, UsageError
from . import backends, casting, chains, native
from .grouped import STAGING, agree, longest_piece
from .layouts import (
    DTYPES,
    Spec,
    contiguous_stride,
    end_of,
    fits,
    local_shape,
    normalized,
    spec_for,
    spec_of,
)
from .messages import Deadline, Links
from .running import (
    CHUNK,
    NCCL_BYTES_A_US,
    NCCL_STEP_US,
    Kind,
    bare,
    check_shape,
    deadline_of,
    runner_for,
    transport_between,
)


@dataclass(frozen=True)
class PlanKey:
    """Everything that a plan depends on, except for the budget."""

    source: Spec
    target: Spec
    dtype: torch.dtype  # element type on the wire
    link: tuple[str, str]
    others: tuple[int, ...] = ()  # ranks that only other arrays of the same program need


def reduction_of(source: Spec, target: Spec) -> str:
    """The reduction that combines addends on the way; empty if neither end is partial."""
    both = {spec.reduction for spec in (source, target)} - {""}
    if len(both) > 1:
        raise Infeasible(
            f"partial values of one reduction cannot become those of another: {sorted(both)}"
        )
    reduction = both.pop() if both else ""
    # An average is computed as a sum, multiplied by scale_of() at the end.
    return "sum" if reduction == "avg" else reduction


def scale_of(source: Spec, target: Spec) -> float:
    """The factor to multiply the sum by if the source or the target holds averages."""
    scale = 1.0
    if source.reduction == "avg":
        scale /= source.addends
    if target.reduction == "avg":
        scale *= target.addends
    return scale


@functools.lru_cache(maxsize=1024)
def plan_of(key: PlanKey, budget: int) -> ReshardPlan:
    reduction = reduction_of(key.source, key.target)
    if reduction and key.dtype not in DTYPES:
        raise Infeasible(f"Weft cannot add up partial values of type {key.dtype}")
    step, message = key.link
    return reshard_plan(
        list(key.source.shape),
        key.dtype.itemsize,
        DTYPES.get(key.dtype, "u8"),
        end_of(key.source),
        end_of(key.target),
        reduction=reduction,
        link=step,
        message_cost=message,
        others=list(key.others),
        budget=budget,
    )


WHOLE = 1 << 30
"""A number of bytes. If the caller gives no budget and no rank's part of an array is larger than
this, groups of messages are not divided into smaller pieces. Staging memory is then about as large
as the parts."""


def largest_part(keys: Sequence[PlanKey]) -> int:
    """Bytes of the largest part of any array on any rank, before or after the move."""
    parts = [
        (math.prod(local_shape(end, rank) or (0,)) * key.dtype.itemsize)
        for key in keys
        for end in (key.source, key.target)
        for rank in end.ranks
    ]
    return max(parts, default=0)


@functools.lru_cache(maxsize=256)
def program_of(
    keys: tuple[PlanKey, ...], rank: int, budget: int | None, kind: Kind
) -> ReshardProgram:
    """What this rank does to move several arrays together. If the budget is too small, the error
    says how much is enough."""
    try:
        return program_within(keys, rank, budget, kind)
    except Infeasible as refusal:
        advice = re.fullmatch(r"(.*); allow at least (\d+).*", str(refusal))
        if budget is None or advice is None:
            raise
        enough = least_budget(keys, rank, max(budget + 1, int(advice[2])), kind)
        raise Infeasible(f"{advice[1]}; allow at least {enough} bytes") from None


def least_budget(keys: tuple[PlanKey, ...], rank: int, budget: int, kind: Kind) -> int:
    """A budget of at least `budget` that is large enough, and close to the smallest such budget.

    The budget that the planner suggests may be too small, for three reasons. With another budget
    the planner finds other plans. Several arrays together may need more than each array alone.
    Groups of messages need staging memory for one piece per rank.
    """
    while True:
        try:
            program_within(keys, rank, budget, kind)
            return budget
        except Infeasible:
            budget += max(1, budget // 32)


def program_within(
    keys: tuple[PlanKey, ...], rank: int, budget: int | None, kind: Kind
) -> ReshardProgram:
    plans = [plan_of(key, budget or 0) for key in keys]
    if kind == "memory":
        # Pieces are exchanged through the shared memory, so only a budget requires smaller ones.
        return reshard_program(plans, rank, budget or 0)
    # The budget must hold the data that the plan keeps between its rounds, and four pieces: two
    # that are sent and two that are received. reshard_program() divides pieces accordingly.
    kept = reshard_resting(plans)
    if kind == "groups":
        if budget is None and largest_part(keys) <= WHOLE:
            return reshard_program(plans, rank)
        staging = STAGING if budget is None else budget - kept
        return reshard_program(
            plans, rank, kept + max(1, 4 * longest_piece(staging, len(plans[0].devices)))
        )
    return reshard_program(plans, rank, kept + 4 * CHUNK if budget is None else budget)


def wire_dtype(given: torch.dtype, wanted: torch.dtype, reduction: str) -> torch.dtype:
    """The element type to send. It is the narrower of the two types, so that fewer bytes are sent.
    But if addends are added up, it is the wider type, so that no precision is lost."""
    narrow, wide = sorted((given, wanted), key=lambda dtype: dtype.itemsize)
    return wide if reduction else narrow


def dtensor(local: torch.Tensor, mesh: DeviceMesh, placements: Any, shape: Any) -> DTensor:
    size = torch.Size(shape)
    placements = normalized(placements, len(size))
    return DTensor.from_local(
        local, mesh, placements, run_check=False, shape=size, stride=contiguous_stride(size)
    )


def absent(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Any], dtype: torch.dtype
) -> DTensor:
    """An empty DTensor on a mesh that this rank is not in.

    Every rank of the old and of the new mesh has to call redistribute() or refit(), even if it
    holds nothing yet. A rank outside a mesh passes this DTensor instead of its part of the array.
    """
    if dist.get_rank() in spec_for(shape, mesh, placements).ranks:
        raise UsageError(
            "absent() is for ranks outside the mesh; this rank is in the mesh and must pass its "
            "part of the array"
        )
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
    """Return a new DTensor with the same values, distributed over `mesh` as `placements` say.

    mesh: default: the array's own mesh. A new mesh may differ from it in its ranks, their order and
    its shape.
    placements: Shard, Replicate or Partial (sum, avg, min, max, product) for each dimension of the
    mesh; uneven shards have the sizes that torch gives them. A negative dimension of a Shard counts
    from the end. Default: the array is replicated.
    dtype: element type of the result. The narrower of the old and the new type is sent; addends are
    added up in the wider type.
    budget: bytes that a rank may use beside the array and the result.
    timeout: seconds after which ranks that do not answer are given up; every other rank then raises
    weft.PeerFailed. Default: the timeout of the process group.

    All ranks of both meshes must make this call, in the same order, and it uses the default process
    group. Ranks in neither mesh need not call it. A rank outside the array's mesh passes an empty
    DTensor of that mesh, see absent(). In the backward pass, gradients are redistributed back, so
    all of these ranks must take part in it too.
    """
    mesh = mesh or array.device_mesh
    placements = [Replicate()] * mesh.ndim if placements is None else placements
    wanted = normalized(placements, array.ndim)
    request = Request(mesh, wanted, dtype or array.dtype, budget, timeout)
    if torch.is_grad_enabled() and array.requires_grad:
        return _Redistribute.apply(array, request)
    return _redistribute(array, request)


class Request(NamedTuple):
    """The arguments of redistribute(), apart from the array, with all defaults filled in."""

    mesh: DeviceMesh
    placements: tuple[Any, ...]
    dtype: torch.dtype
    budget: int | None
    timeout: float | None


Mover = Callable[[torch.Tensor, torch.Tensor, DeviceMesh, float | None], None]
"""Moves data. Arguments: this rank's old part and the memory of its new part, both in the wire
type; the target mesh; the timeout."""


@dataclass(frozen=True)
class Ready:
    """A prepared redistribution: what is the same in every call with the same layouts."""

    result: DTensorSpec
    same: bool  # nothing changes, so the result shares the memory of the array
    given: tuple[int, ...]  # shape of this rank's old part
    shape: tuple[int, ...]  # shape of this rank's new part
    travels: torch.dtype  # the wire type
    scale: float  # see scale_of()
    move: Mover | None  # None if this rank is in neither mesh


READY = 1024
"""At most this many prepared redistributions are kept per process group; the oldest go first."""

prepared: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[Any, Ready]] = (
    weakref.WeakKeyDictionary()
)
"""By process group, because another group may consist of other ranks, then by everything else that
prepare() depends on."""


def ready_for(array: DTensor, request: Request) -> Ready:
    known = prepared.setdefault(backends.world(), {})
    mesh, placements, wanted, budget, _ = request
    key = (array._spec, mesh, placements, wanted, budget, array._local_tensor.device)
    ready = known.get(key)
    if ready is None:
        ready = prepare(array, request)
        if len(known) >= READY:
            del known[next(iter(known))]
        known[key] = ready
    return ready


def prepare(array: DTensor, request: Request) -> Ready:
    """All ranks of both meshes call this when they first use this pair of layouts."""
    mesh, placements, wanted = request.mesh, request.placements, request.dtype
    source, target = spec_of(array), spec_for(array.shape, mesh, placements)
    travels = wire_dtype(array.dtype, wanted, reduction_of(source, target))
    rank, device = dist.get_rank(), array._local_tensor.device
    before, after = local_shape(source, rank), local_shape(target, rank)
    same = source == target and wanted == array.dtype
    move = None
    if not same and (before is not None or after is not None):
        move = mover_for(source, target, travels, device, request)
    # The local tensor of a scalar must be a scalar too, because torch takes the number of
    # dimensions from the local tensor.
    nothing = torch.empty((0,) if array.shape else (), dtype=wanted, device=device)
    result = dtensor(nothing, mesh, placements, array.shape)
    if spec_for(result.shape, mesh, result.placements) != target:
        raise InternalError(f"{result._spec} is not the layout {target} that was asked for")
    return Ready(
        result._spec,
        same,
        (0,) if before is None else before,
        (0,) if after is None else after,
        travels,
        scale_of(source, target),
        move,
    )


def mover_for(
    source: Spec, target: Spec, travels: torch.dtype, device: torch.device, request: Request
) -> Mover:
    """Choose between collectives and messages. The program is made even if collectives are chosen,
    because the ranks compare its fingerprint to check that all of them do the same."""
    budget, timeout = request.budget, request.timeout
    reduction = reduction_of(source, target)
    transport = transport_between((*source.ranks, *target.ranks), device, timeout)
    key = PlanKey(source, target, travels, transport.link(device))
    program = program_of((key,), dist.get_rank(), budget, transport.kind())
    chain = None
    # A chain of collectives cannot keep to a budget.
    if transport.shared is None and budget is None:
        chain = collectives_for(key, transport.groups)
    if chain is None or not has_groups(request.mesh):
        runner = runner_for(program, transport, device, [(travels, reduction)], timeout)
        return lambda given, out, _mesh, timeout: runner((given, out), timeout)
    # Like messages of NCCL, collectives have no tags that would tell programs apart.
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


def collectives_for(key: PlanKey, groups: bool) -> chains.Chain | None:
    """A chain of collectives of the back-end that does the redistribution, if it is as good as the
    plan.

    Three conditions must hold. No rank receives more elements than with the plan; padding does not
    count. Apart from rounding, no rank needs more additional memory than the sizes of the parts
    that it sends and receives, because messages need that much too. If the back-end takes groups of
    messages, the chain is also faster than the plan in the cost model.
    """
    source, target, dtype = key.source, key.target, key.dtype
    reduction, rank = reduction_of(source, target), dist.get_rank()
    if groups:
        step, element = NCCL_STEP_US, dtype.itemsize / NCCL_BYTES_A_US
        chain = chains.chain_of(
            source, target, dtype, reduction, rank, dist.get_world_size(), step, element
        )
        if chain is None or chain.only_messages(len(source.ranks)):
            return None
        plan = plan_of(key, 0)
        # The plan's time assumes the bandwidth of collectives; messages take longer per byte.
        messages = plan.time_us + plan.received / NCCL_BYTES_A_US * (chains.MESSAGES - 1)
        most = plan.received + chain.padding * dtype.itemsize
        if chain.received * dtype.itemsize > most or chain.price(step, element) > messages:
            return None
    else:
        alone = native.collective_of(source, target, dtype, reduction, rank)
        if alone is None:
            return None
        chain = chains.chained((source, target), [alone], rank)
    largest = largest_part((key,))
    allowed = 2 * largest + chains.rounded(largest) if largest <= WHOLE else 0
    return chain if chain.held * dtype.itemsize <= allowed else None


def has_groups(mesh: DeviceMesh) -> bool:
    """Whether the mesh has process groups for its dimensions; a mesh can be made without them."""
    try:
        mesh.get_all_groups()
    except RuntimeError:
        return False
    return True


def _redistribute(array: DTensor, request: Request) -> DTensor:
    ready, wanted = ready_for(array, request), request.dtype
    local = bare(array)
    check_shape(local.shape, ready.given)
    if ready.same:
        return made(local, ready)
    comes_as = wanted if casting.widens(ready.travels, wanted) else ready.travels
    result = torch.empty(ready.shape, dtype=comes_as, device=local.device)
    out = casting.receive_buffer(result, ready.travels)
    if ready.move is not None:
        given = local.to(ready.travels).contiguous() if math.prod(ready.given) else out[:0]
        ready.move(given, out, request.mesh, request.timeout)
    if out is not result:
        casting.finish_receive(out, result)
    scale = ready.scale
    if scale != 1.0:
        exact = result.is_floating_point() or result.is_complex()
        result = result.mul_(scale) if exact else result * scale
    return made(result.to(wanted), ready)


def redistribute_local(local: torch.Tensor, spec: DTensorSpec, placements: Any) -> torch.Tensor:
    """Like redistribute() on the mesh of `spec`, but takes and returns this rank's part."""
    array = DTensor(local, spec, requires_grad=False)
    request = Request(spec.mesh, tuple(placements), array.dtype, None, None)
    return _redistribute(array, request)._local_tensor


def made(local: torch.Tensor, ready: Ready) -> DTensor:
    """Like DTensor.from_local(), but faster because the specification is known. It is copied
    because callers may change the specification of their DTensor."""
    if not fits(local.shape, ready.shape):
        raise InternalError(f"a part of {ready.result} has the shape {tuple(local.shape)}")
    return DTensor(local, copy.copy(ready.result), requires_grad=False)


class _Redistribute(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, array: DTensor, request: Request) -> DTensor:
        target = spec_for(array.shape, request.mesh, request.placements)
        if {spec_of(array).reduction, target.reduction} - {"", "sum"}:
            raise UsageError(
                "gradients can be redistributed only for partial sums, not for other reductions: "
                "detach() the array first"
            )
        # The gradient of every addend is the gradient of the sum, hence replicated.
        placements = (Replicate() if isinstance(p, Partial) else p for p in array.placements)
        ctx.back = request._replace(
            mesh=array.device_mesh, placements=tuple(placements), dtype=array.dtype
        )
        return _redistribute(array, request)

    @staticmethod
    def backward(ctx: Any, gradient: DTensor) -> Any:
        back = ctx.back
        result = redistribute(
            gradient, back.mesh, back.placements, dtype=back.dtype, budget=back.budget,
            timeout=back.timeout,
        )  # fmt: skip
        return result, None
