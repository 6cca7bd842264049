# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the tensors of this rank, with whatever the process group and the device have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import DTensor

from .._core import ReshardNeighbours, ReshardProgram
from ..errors import UsageError
from . import backends, neighbours
from .grouped import run_grouped
from .kernels import kernels, run_with_kernels
from .messages import Deadline, Links, run_program
from .packing import HostPacking, Packing, TorchPacking

CHUNK = 4 << 20
"""Bytes of a block of staging, where no budget is given: small enough to stay in caches."""

# Time to start a round and bandwidth, and time a message: what plans are priced with.
LINKS = {"gloo": ("100us,1GB/s", "50us"), "nccl": ("10us,100GB/s", "3us")}
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


def packing_for(
    program: ReshardProgram, buffers: Sequence[torch.Tensor], jobs: Sequence[Job]
) -> Packing:
    if buffers[-1].device.type == "cpu":
        return HostPacking(program, buffers)
    dtypes = [job.target.dtype for job in jobs]
    return TorchPacking(program, buffers, dtypes, [job.reduction for job in jobs])


def deadline_of(device: torch.device, timeout: float | None) -> Deadline:
    return Deadline(
        backends.seconds_of(backends.backend_of(device)) if timeout is None else timeout,
        queued=device.type != "cpu",
        watch=timeout is not None,
    )


def run(program: ReshardProgram, jobs: Sequence[Job], timeout: float | None, road: Road) -> None:
    device = jobs[0].target.device
    buffers = []
    for job in jobs:
        buffers += [as_bytes(job.source), as_bytes(job.target)]
    for buffer, size in zip(buffers, program.buffers):
        if buffer.numel() != size:
            raise UsageError(
                f"this rank has {buffer.numel()} bytes of an array of which its placements say {size}"
            )
    if road.near is not None:
        seconds = backends.seconds_of(backends.backend_of(device)) if timeout is None else timeout
        neighbours.run_shared(road.near, program, buffers, road.ranks, seconds)
        return
    buffers.append(torch.empty(program.buffers[-1], dtype=torch.uint8, device=device))
    links = Links(deadline_of(device, timeout), program.fingerprint % (1 << 30))
    held = kernels() if device.type == "cuda" and road.groups else None
    if held is not None:
        run_with_kernels(held, program, buffers, links)
        return
    carry_out = run_grouped if road.groups else run_program
    carry_out(program, packing_for(program, buffers, jobs), buffers, links)
