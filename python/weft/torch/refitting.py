# SPDX-License-Identifier: Apache-2.0
"""Takes all arrays of a model from one parallel layout to another, many in one set of messages."""

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
from .layouts import Placed, Spec, part_of, spec_of
from .redistribution import Way, program_of, reduction_of, scale_of, wire_dtype
from .running import Job, bare, road_between, run

CASTS = 256 << 20
"""Bytes for arrays in another type than they are kept in, at once, where no budget is given."""


@dataclass(frozen=True)
class Held:
    """What one rank tells of an array that it has, or wants."""

    spec: Spec | None  # None: the whole array, as a plain tensor
    shape: tuple[int, ...]
    dtype: torch.dtype


Told = tuple[dict[str, Held], dict[str, Held]]
"""By one rank: what it has, what it wants."""


@dataclass(frozen=True)
class Transfer:
    """One array on its way to one group of ranks that want it alike."""

    name: str
    source: Spec
    target: Spec
    given: torch.dtype
    wanted: torch.dtype
    travels: torch.dtype


def held(state: Mapping[str, torch.Tensor]) -> dict[str, Held]:
    def of(tensor: torch.Tensor) -> Held:
        spec = spec_of(tensor) if isinstance(tensor, DTensor) else None
        return Held(spec, tuple(tensor.shape), tensor.dtype)

    return {name: of(tensor) for name, tensor in state.items() if isinstance(tensor, torch.Tensor)}


@functools.lru_cache(maxsize=64)
def remembered(digests: tuple[bytes, ...]) -> list[list[Transfer]]:
    """Filled by whoever asks first; the same on all ranks, as all ask in the same order."""
    return []


def told_by_all(mine: Told, device: torch.device) -> list[list[Transfer]]:
    """What has to be moved, as every rank works it out for itself. Known models cost one small message."""
    digest = hashlib.sha256(pickle.dumps(mine)).digest()
    own = torch.frombuffer(bytearray(digest), dtype=torch.uint8).to(device)
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    known = remembered(tuple(bytes(each.tolist()) for each in every))
    if not known:
        told: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(told, mine)
        known.append(list(transfers(told)))
    return known


def together(name: str, of_ranks: Mapping[int, Held]) -> list[Spec]:
    """Ranks that hold an array alike, as one layout each: whole copies are replicated, and so are
    meshes that differ in their ranks alone, as those of data parallelism do."""
    alike: dict[Any, list[Spec]] = {}
    for rank, each in sorted(of_ranks.items()):
        spec = each.spec or Spec(each.shape, (1,), (rank,), (Placed(),))
        meshes = alike.setdefault((spec.sizes, spec.placed, spec.order), [])
        if spec not in meshes:
            meshes.append(spec)
        lost = [other for other in spec.ranks if of_ranks.get(other) != each and each.spec]
        if lost:
            raise UsageError(f"rank {rank} has {name} on a mesh with rank {lost[0]}, which has not")
    return [stacked(meshes) for meshes in alike.values()]


def stacked(meshes: Sequence[Spec]) -> Spec:
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
    if len(values) > 1:
        raise UsageError(f"{name} has more than one {what}: {sorted(map(str, values))}")
    return values.pop()


def transfers(told: Sequence[Told]) -> Iterator[Transfer]:
    for name in sorted({name for _, wanted in told for name in wanted}):
        has = {rank: had[name] for rank, (had, _) in enumerate(told) if name in had}
        wants = {rank: want[name] for rank, (_, want) in enumerate(told) if name in want}
        if not has:
            raise UsageError(f"{name} is wanted, and no rank has it")
        one(name, "shape", {each.shape for each in (*has.values(), *wants.values())})
        given = one(name, "type where it is", {each.dtype for each in has.values()})
        wanted = one(name, "type where it goes", {each.dtype for each in wants.values()})
        # Other copies of the same array are left alone, where they are cut in another way.
        source = max(together(name, has), key=lambda spec: len(spec.ranks))
        for target in together(name, wants):
            travels = wire_dtype(given, wanted, reduction_of(source, target))
            yield Transfer(name, source, target, given, wanted, travels)


def cast_bytes(transfer: Transfer) -> int:
    """Most that any rank needs for the array in the type that travels; a wider target has room for that."""
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
    """Arrays that go together, and what is left of the budget beside their casts."""
    most = CASTS if budget is None else budget // 2
    batch: list[Transfer] = []
    casts = 0
    for transfer in wanted:
        size = cast_bytes(transfer)
        if budget is not None and size > most:
            raise Infeasible(
                f"{transfer.name} takes {size} bytes as {transfer.travels}, which is more than half "
                f"the budget: allow at least {2 * size}"
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
    """Fills the tensors of `dst_state` with the values of those of the same name in `src_state`.

    Both are what a state_dict() gives on this rank: DTensors on any mesh, or plain tensors, which are
    whole arrays. A rank has only the names that it holds a part of, such as those of its pipeline stage,
    or none at all. Types may differ; the narrower one travels. What only `src_state` has stays where it
    is.

    budget, timeout: as in redistribute(). All ranks of the default process group call it.
    """
    tensors = [bare(tensor) for state in (src_state, dst_state) for tensor in state.values()]
    device = tensors[0].device if tensors else default_device()
    moved = told_by_all((held(src_state), held(dst_state)), device)[0]
    ranks = {rank for each in moved for spec in (each.source, each.target) for rank in spec.ranks}
    rank = dist.get_rank()
    if rank not in ranks:
        return
    others = tuple(sorted(ranks))
    road = road_between(others, device, timeout)
    step, _ = road.link(device)
    with torch.no_grad():
        for batch, left in batches(moved, budget):
            # Arrays share messages, so that none costs more of them.
            ways = tuple(
                Way(each.source, each.target, each.travels, (step, "0us"), others) for each in batch
            )
            program = program_of(ways, rank, left, road.kind())
            jobs = [job_of(each, src_state, dst_state, rank, device) for each in batch]
            run(program, jobs, timeout, road)
            for each, job in zip(batch, jobs):
                finish(each, job, dst_state, rank)


def default_device() -> torch.device:
    """Of a rank without any tensor: it has to join in, on whatever the process group serves."""
    return torch.device(dist.distributed_c10d._get_object_coll_device(None))


def job_of(
    each: Transfer,
    src_state: Mapping[str, torch.Tensor],
    dst_state: Mapping[str, torch.Tensor],
    rank: int,
    device: torch.device,
) -> Job:
    nothing = torch.empty(0, dtype=each.travels, device=device)
    source = target = nothing
    if rank in each.source.ranks:
        source = bare(src_state[each.name]).to(each.travels)
    if rank in each.target.ranks:
        target = casting.room_in(bare(dst_state[each.name]), each.travels)
    return Job(source, target, reduction_of(each.source, each.target))


def finish(each: Transfer, job: Job, dst_state: Mapping[str, torch.Tensor], rank: int) -> None:
    if rank not in each.target.ranks:
        return
    target = bare(dst_state[each.name])
    scale = scale_of(each.source, each.target)
    if scale != 1.0:
        target.copy_(job.target * scale)
    else:
        casting.settle(job.target, target)
