# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the tensors of this rank, with whatever the process group and the device have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import DTensor

from .._core import ReshardNeighbours, ReshardProgram
from ..errors import UsageError
from . import backends, neighbours
from .grouped import run_grouped
from .kernels import kernels, queue_of
from .messages import Deadline, Links, run_program, turns_of
from .packing import HostPacking, Packing, TorchPacking

CHUNK = 4 << 20
"""Bytes of a block of staging, where no budget is given: small enough to stay in caches."""

# Time to start a round and bandwidth, and time a message: what plans are priced with.
NCCL_STEP_US, NCCL_BYTES_A_US = 10.0, 100e3
LINKS = {
    "gloo": ("100us,1GB/s", "50us"),
    "nccl": (f"{NCCL_STEP_US:g}us,{NCCL_BYTES_A_US / 1e3:g}GB/s", "3us"),
}
SHARED = ("20us,3GB/s", "2us")


Kind = Literal["memory", "groups", "messages"]
"""Of ways from rank to rank: memory that they share, messages in groups as NCCL wants them, or single."""


@dataclass(frozen=True)
class Job:
    """One array: what this rank has, and where to put what it shall have."""

    source: torch.Tensor
    target: torch.Tensor  # dense
    reduction: str


@dataclass(frozen=True)
class Road:
    """How these ranks reach each other; the same on all of them."""

    ranks: tuple[int, ...]
    groups: bool  # see in_groups
    near: ReshardNeighbours | None = None  # through memory that they share

    def link(self, device: torch.device) -> tuple[str, str]:
        return SHARED if self.near is not None else link_of(device)

    def kind(self) -> Kind:
        return "memory" if self.near is not None else "groups" if self.groups else "messages"


def road_between(ranks: Iterable[int], device: torch.device, timeout: float | None) -> Road:
    """All of the ranks call it, in the same order."""
    every = tuple(sorted(set(ranks)))
    if backends.in_groups(device):
        return Road(every, True)
    links = Links(deadline_of(device, timeout), neighbours.tag_of(every))
    return Road(every, False, neighbours.neighbours_of(every, links))


def link_of(device: torch.device) -> tuple[str, str]:
    return LINKS.get(backends.backend_of(device).name().lower(), LINKS["nccl"])


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of it, as a plain tensor, once it is there."""
    local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
    return (local.trigger_wait() if isinstance(local, AsyncCollectiveTensor) else local).detach()


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).view(torch.uint8)


Elements = tuple[torch.dtype, str]
"""Of one array: what travels, and how it is added up."""


def packing_for(
    program: ReshardProgram, buffers: Sequence[torch.Tensor], arrays: Sequence[Elements]
) -> Packing:
    if buffers[-1].device.type == "cpu":
        return HostPacking(program, buffers)
    dtypes, reductions = zip(*arrays)
    return TorchPacking(program, buffers, dtypes, reductions)


def seconds_for(device: torch.device) -> float:
    """How long the process group itself would wait."""
    return backends.seconds_of(backends.backend_of(device))


def deadline_of(device: torch.device, timeout: float | None, group: Any = None) -> Deadline:
    return deadline_after(device, seconds_for(device), timeout, group)


def deadline_after(
    device: torch.device, usual: float, timeout: float | None, group: Any = None
) -> Deadline:
    return Deadline(
        usual if timeout is None else timeout,
        queued=device.type != "cpu",
        watch=timeout is not None,
        group=group,
    )


Carrier = Callable[[Sequence[torch.Tensor], float | None], None]
"""Runs one program, any number of times, on the source and target of every array and with a timeout."""


def carrier(
    program: ReshardProgram,
    road: Road,
    device: torch.device,
    arrays: Sequence[Elements],
    timeout: float | None,
) -> Carrier:
    """All ranks of the program call it, when they see it first. What it looks up is not looked up again."""
    usual = seconds_for(device)
    if road.near is not None:
        near = road.near
        return lambda tensors, timeout: neighbours.run_shared(
            near, program, tensors, road.ranks, usual if timeout is None else timeout
        )
    rests, tag = program.buffers[-1], program.fingerprint % (1 << 30)

    def links(timeout: float | None) -> Links:
        return Links(deadline_after(device, usual, timeout), tag)

    def memory(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        staging = torch.empty(rests, dtype=torch.uint8, device=device)
        return [*map(as_bytes, tensors), staging]

    held = kernels() if device.type == "cuda" and road.groups else None
    if held is not None:
        queue = queue_of(held, program, links(timeout), device)
        return lambda tensors, timeout: queue.run(memory(tensors), links(timeout))

    turns, carry_out = turns_of(program), run_grouped if road.groups else run_program

    def carry(tensors: Sequence[torch.Tensor], timeout: float | None) -> None:
        buffers = memory(tensors)
        packing = packing_for(program, buffers, arrays)
        carry_out(program, turns, packing, buffers, links(timeout))

    return carry


def check_sizes(program: ReshardProgram, tensors: Sequence[torch.Tensor]) -> None:
    for tensor, size in zip(tensors, program.buffers):
        if tensor.nbytes != size:
            raise UsageError(
                f"this rank has {tensor.nbytes} bytes of an array of which its placements say {size}"
            )


def run(program: ReshardProgram, jobs: Sequence[Job], timeout: float | None, road: Road) -> None:
    tensors = [part for job in jobs for part in (job.source.contiguous(), job.target)]
    check_sizes(program, tensors)
    arrays = [(job.target.dtype, job.reduction) for job in jobs]
    carrier(program, road, jobs[0].target.device, arrays, timeout)(tensors, timeout)
