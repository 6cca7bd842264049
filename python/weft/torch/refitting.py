# SPDX-License-Identifier: Apache-2.0
"""Copies all arrays of a model from one parallel layout into another.

Ranks first tell each other which arrays they have and which they want. They do so once per pair of
layouts. Then every rank computes the same list of transfers. Many arrays move in one set of
messages, so the number of messages does not grow with the number of arrays.
"""

from __future__ import annotations

import functools
import hashlib
import math
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from ..errors import Infeasible, UsageError
from . import casting
from .layouts import Placed, Spec, local_shape, part_of, spec_of
from .redistribution import PlanKey, program_of, reduction_of, scale_of, wire_dtype
from .running import Job, bare, check_shape, run, transport_between

CASTS = 256 << 20
"""Bytes of arrays that are cast to their wire type at the same
time if the caller gives no budget."""


@dataclass(frozen=True)
class Held:
    """How one rank holds an array, as it reports it to the other ranks."""

    spec: Spec | None  # None: the whole array, as a plain tensor
    shape: tuple[int, ...]
    dtype: torch.dtype


Report = tuple[dict[str, Held], dict[str, Held]]
"""What one rank reports: the arrays that it has and the arrays that it wants, by name."""


@dataclass(frozen=True)
class Transfer:
    """The move of one array to one group of ranks that want the array in the same layout."""

    name: str
    source: Spec
    target: Spec
    given: torch.dtype
    wanted: torch.dtype
    travels: torch.dtype


def held(state: Mapping[str, torch.Tensor]) -> dict[str, Held]:
    """How this rank holds each tensor of a state."""

    def of(tensor: torch.Tensor) -> Held:
        spec = spec_of(tensor) if isinstance(tensor, DTensor) else None
        return Held(spec, tuple(tensor.shape), tensor.dtype)

    return {name: of(tensor) for name, tensor in state.items() if isinstance(tensor, torch.Tensor)}


@functools.lru_cache(maxsize=64)
def remembered(digests: tuple[bytes, ...]) -> list[list[Transfer]]:
    """The cache entry for the reports with these digests: empty, or with the list of transfers.

    The first caller fills the entry. All ranks make the same calls in the same order, so a hit on
    one rank is a hit on all of them.
    """
    return []


def transfers_of_all(mine: Report, device: torch.device) -> list[Transfer]:
    """The transfers of all ranks, which every rank computes from the reports of all ranks.

    Ranks first exchange digests of their reports. If these digests are in the cache, nothing else
    is sent.
    """
    digest = hashlib.sha256(pickle.dumps(mine)).digest()
    own = torch.frombuffer(bytearray(digest), dtype=torch.uint8).to(device)
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    known = remembered(tuple(bytes(each.tolist()) for each in every))
    if not known:
        reports: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(reports, mine)
        known.append(list(transfers(reports)))
    return known[0]


def together(name: str, of_ranks: Mapping[int, Held]) -> list[Spec]:
    """Combine the tensors of all ranks into as few layouts as possible.

    If several ranks hold a plain tensor, the result has one layout that replicates the array over
    these ranks. If several meshes have the same shape and placements but different ranks, as those
    of data-parallel replicas do, the result has one layout for all of them; see stacked().
    """
    alike: dict[Any, list[Spec]] = {}
    for rank, each in sorted(of_ranks.items()):
        spec = each.spec or Spec(each.shape, (1,), (rank,), (Placed(),))
        meshes = alike.setdefault((spec.sizes, spec.placed, spec.order), [])
        if spec not in meshes:
            meshes.append(spec)
        lost = [other for other in spec.ranks if of_ranks.get(other) != each and each.spec]
        if lost:
            raise UsageError(
                f"rank {rank} has {name} on a mesh with rank {lost[0]}, but rank {lost[0]} does "
                "not have it in the same layout"
            )
    return [stacked(meshes) for meshes in alike.values()]


def stacked(meshes: Sequence[Spec]) -> Spec:
    """One layout for several meshes. Its mesh has an additional first dimension, along which the
    array is replicated; each index of this dimension is one of the meshes."""
    first = meshes[0]
    if len(meshes) == 1:
        return first
    return Spec(
        first.shape,
        (len(meshes), *first.sizes),
        tuple(rank for spec in meshes for rank in spec.ranks),
        (Placed(), *first.placed),
        tuple(tuple(axis + 1 for axis in dim) for dim in first.order),
    )


def one(name: str, what: str, values: set[Any]) -> Any:
    """The only element of `values`; an error if there are several, because ranks differ."""
    if len(values) > 1:
        raise UsageError(f"ranks have {name} with different {what}s: {sorted(map(str, values))}")
    return values.pop()


def transfers(reports: Sequence[Report]) -> Iterator[Transfer]:
    """The transfers that bring every wanted array to all ranks that want it."""
    for name in sorted({name for _, wanted in reports for name in wanted}):
        has = {rank: had[name] for rank, (had, _) in enumerate(reports) if name in had}
        wants = {rank: want[name] for rank, (_, want) in enumerate(reports) if name in want}
        if not has:
            raise UsageError(f"dst_state has {name}, but no rank has it in src_state")
        one(name, "shape", {each.shape for each in (*has.values(), *wants.values())})
        given = one(name, "source dtype", {each.dtype for each in has.values()})
        wanted = one(name, "target dtype", {each.dtype for each in wants.values()})
        # If ranks have copies of the array in several layouts, use the one with the most ranks.
        source = max(together(name, has), key=lambda spec: len(spec.ranks))
        for target in together(name, wants):
            travels = wire_dtype(given, wanted, reduction_of(source, target))
            yield Transfer(name, source, target, given, wanted, travels)


def cast_bytes(transfer: Transfer) -> int:
    """The most bytes that any rank needs to cast the array to its wire type. A target with a wider
    type needs none, because the array is received in the target's own memory."""
    most = 0
    ends = ((transfer.source, transfer.given), (transfer.target, transfer.wanted))
    for spec, dtype in ends:
        widened = spec is transfer.target and casting.widens(transfer.travels, dtype)
        if dtype != transfer.travels and not widened:
            for rank in spec.ranks:
                part = part_of(spec, rank) or ()
                count = math.prod(sum(high - low for low, high in strips) for strips in part)
                most = max(most, count * transfer.travels.itemsize)
    return most


def batches(
    wanted: Sequence[Transfer], budget: int | None
) -> Iterator[tuple[list[Transfer], int | None]]:
    """Divide the transfers into batches that move together. Yields each batch with the part of the
    budget that its casts leave for the move; casts get at most half of the budget."""
    most = CASTS if budget is None else budget // 2
    batch: list[Transfer] = []
    casts = 0
    for transfer in wanted:
        size = cast_bytes(transfer)
        if budget is not None and size > most:
            raise Infeasible(
                f"casting {transfer.name} to {transfer.travels} takes {size} bytes, more than half "
                f"of the budget; allow at least {2 * size} bytes"
            )
        if batch and casts + size > most:
            yield batch, None if budget is None else budget - casts
            batch, casts = [], 0
        batch.append(transfer)
        casts += size
    if batch:
        yield batch, None if budget is None else budget - casts


def refit(
    src_state: Mapping[str, torch.Tensor],
    dst_state: Mapping[str, torch.Tensor],
    *,
    budget: int | None = None,
    timeout: float | None = None,
) -> None:
    """Fill the tensors of `dst_state` with the values of the tensors of the same name in
    `src_state`.

    Both are states as state_dict() returns them on this rank: DTensors on any mesh, or plain
    tensors, which are whole arrays. A rank's state has only the names of which the rank holds a
    part, for example those of its pipeline stage; it may be empty. Element types may differ; the
    narrower type is sent. Names that only `src_state` has are ignored.

    budget, timeout: as in redistribute(). All ranks of the default process group must make this
    call.
    """
    tensors = [bare(tensor) for state in (src_state, dst_state) for tensor in state.values()]
    device = tensors[0].device if tensors else default_device()
    moved = transfers_of_all((held(src_state), held(dst_state)), device)
    ranks = {rank for each in moved for spec in (each.source, each.target) for rank in spec.ranks}
    rank = dist.get_rank()
    if rank not in ranks:
        return
    others = tuple(sorted(ranks))
    transport = transport_between(others, device, timeout)
    step, _ = transport.link(device)
    with torch.no_grad():
        for batch, left in batches(moved, budget):
            # The arrays of a batch share messages, so an array does not add to the number of
            # messages: the time per message is 0 in the cost model.
            keys = tuple(
                PlanKey(each.source, each.target, each.travels, (step, "0us"), others)
                for each in batch
            )
            program = program_of(keys, rank, left, transport.kind())
            jobs = [job_of(each, src_state, dst_state, rank, device) for each in batch]
            run(program, jobs, timeout, transport)
            for each, job in zip(batch, jobs):
                finish(each, job, dst_state, rank)


def default_device() -> torch.device:
    """The device that a rank without tensors uses. Such a rank takes part in the exchange of
    reports too, and this needs tensors on a device that the process group supports."""
    return torch.device(dist.distributed_c10d._get_object_coll_device(None))


def job_of(
    each: Transfer,
    src_state: Mapping[str, torch.Tensor],
    dst_state: Mapping[str, torch.Tensor],
    rank: int,
    device: torch.device,
) -> Job:
    """This rank's part in a transfer, with its tensors in the wire type."""
    nothing = torch.empty(0, dtype=each.travels, device=device)
    source = target = nothing
    if rank in each.source.ranks:
        given = bare(src_state[each.name])
        check_shape(given.shape, local_shape(each.source, rank) or (), each.name)
        source = given.to(each.travels)
    if rank in each.target.ranks:
        wanted = bare(dst_state[each.name])
        check_shape(wanted.shape, local_shape(each.target, rank) or (), each.name)
        target = casting.receive_buffer(wanted, each.travels)
    return Job(source, target, reduction_of(each.source, each.target))


def finish(each: Transfer, job: Job, dst_state: Mapping[str, torch.Tensor], rank: int) -> None:
    """Put what the job received into the tensor of the state, cast and scaled."""
    if rank not in each.target.ranks:
        return
    target = bare(dst_state[each.name])
    scale = scale_of(each.source, each.target)
    if scale != 1.0:
        target.copy_(job.target * scale)
    else:
        casting.finish_receive(job.target, target)
