# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the tensors of this rank. It uses the fastest method that the process group and
the device offer: shared memory, groups of messages, or single messages."""

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
from .layouts import fits
from .messages import Deadline, Links, run_program, turns_of
from .packing import HostPacking, Packing, TorchPacking

CHUNK = 4 << 20
"""Bytes of a staging block if the caller gives no budget:
small enough to stay in the CPU's caches."""

# The cost model with which the planner compares plans. Each entry is (the time to start a round and
# the bandwidth, the time per message).
NCCL_STEP_US, NCCL_BYTES_A_US = 10.0, 100e3
LINKS = {
    "gloo": ("100us,1GB/s", "50us"),
    "nccl": (f"{NCCL_STEP_US:g}us,{NCCL_BYTES_A_US / 1e3:g}GB/s", "3us"),
}
SHARED = ("20us,3GB/s", "2us")


Kind = Literal["memory", "groups", "messages"]
"""How ranks exchange data: shared memory, groups of messages (NCCL), or single messages (gloo)."""


@dataclass(frozen=True)
class Job:
    """One array to redistribute: this rank's old part, and the memory for its new part."""

    source: torch.Tensor
    target: torch.Tensor  # contiguous
    reduction: str


@dataclass(frozen=True)
class Transport:
    """How the ranks of one set exchange data. All ranks of the set have the same transport."""

    ranks: tuple[int, ...]
    groups: bool  # see backends.in_groups
    shared: ReshardNeighbours | None = None  # their shared memory, if they use it

    def link(self, device: torch.device) -> tuple[str, str]:
        return SHARED if self.shared is not None else link_of(device)

    def kind(self) -> Kind:
        return "memory" if self.shared is not None else "groups" if self.groups else "messages"


def transport_between(
    ranks: Iterable[int], device: torch.device, timeout: float | None
) -> Transport:
    """All ranks of the set make this call. A rank that is in several sets makes its calls in the
    same order as the other ranks."""
    every = tuple(sorted(set(ranks)))
    if backends.in_groups(device):
        return Transport(every, True)
    links = Links(deadline_of(device, timeout), neighbours.tag_of(every))
    return Transport(every, False, neighbours.neighbours_of(every, links))


def link_of(device: torch.device) -> tuple[str, str]:
    return LINKS.get(backends.backend_of(device).name().lower(), LINKS["nccl"])


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part as a plain tensor. Waits if the tensor is the
    result of an asynchronous collective."""
    local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
    return (local.trigger_wait() if isinstance(local, AsyncCollectiveTensor) else local).detach()


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).view(torch.uint8)


Elements = tuple[torch.dtype, str]
"""The element type of an array on the wire, and its reduction."""


def packing_for(
    program: ReshardProgram, buffers: Sequence[torch.Tensor], arrays: Sequence[Elements]
) -> Packing:
    if buffers[-1].device.type == "cpu":
        return HostPacking(program, buffers)
    dtypes, reductions = zip(*arrays)
    return TorchPacking(program, buffers, dtypes, reductions)


def seconds_for(device: torch.device) -> float:
    """The timeout of the process group for this device, in seconds."""
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


Runner = Callable[[Sequence[torch.Tensor], float | None], None]
"""Runs one program, any number of times. Arguments: source and
target of every array, and a timeout."""


def runner_for(
    program: ReshardProgram,
    transport: Transport,
    device: torch.device,
    arrays: Sequence[Elements],
    timeout: float | None,
) -> Runner:
    """Prepare a program so that later runs look nothing up. All of its ranks call this when they
    first use the program, because NCCL ranks check here that they all run the same one."""
    usual = seconds_for(device)
    if transport.shared is not None:
        shared = transport.shared
        return lambda tensors, timeout: neighbours.run_shared(
            shared, program, tensors, transport.ranks, usual if timeout is None else timeout
        )
    staging_bytes, tag = program.buffers[-1], program.fingerprint % (1 << 30)

    def links(timeout: float | None) -> Links:
        return Links(deadline_after(device, usual, timeout), tag)

    def memory(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        staging = torch.empty(staging_bytes, dtype=torch.uint8, device=device)
        return [*map(as_bytes, tensors), staging]

    library = kernels() if device.type == "cuda" and transport.groups else None
    if library is not None:
        queue = queue_of(library, program, links(timeout), device)
        return lambda tensors, timeout: queue.run(memory(tensors), links(timeout))

    turns, run_turns = turns_of(program), run_grouped if transport.groups else run_program

    def run_once(tensors: Sequence[torch.Tensor], timeout: float | None) -> None:
        buffers = memory(tensors)
        packing = packing_for(program, buffers, arrays)
        run_turns(program, turns, packing, buffers, links(timeout))

    return run_once


def check_sizes(program: ReshardProgram, tensors: Sequence[torch.Tensor]) -> None:
    for tensor, size in zip(tensors, program.buffers):
        if tensor.nbytes != size:
            raise wrong_size(tensor.nbytes, size)


def wrong_size(found: int, expected: int) -> UsageError:
    return UsageError(
        f"the local tensor of this rank has {found} bytes, but by its placements it should have "
        f"{expected}"
    )


def check_shape(found: Sequence[int], expected: Sequence[int], what: str = "array") -> None:
    """Refuse a local tensor that does not have the shape that its placements give it."""
    if not fits(found, expected):
        raise UsageError(
            f"the local tensor of this rank's {what} has the shape {tuple(found)}, but by its "
            f"placements it should have {tuple(expected)}"
        )


def run(
    program: ReshardProgram, jobs: Sequence[Job], timeout: float | None, transport: Transport
) -> None:
    tensors = [part for job in jobs for part in (job.source.contiguous(), job.target)]
    check_sizes(program, tensors)
    arrays = [(job.target.dtype, job.reduction) for job in jobs]
    runner_for(program, transport, jobs[0].target.device, arrays, timeout)(tensors, timeout)
