# SPDX-License-Identifier: Apache-2.0
"""Carries out a program on GPUs with Weft's own kernels: all copies of a turn are one launch, its
messages one group of the back-end, or a collective of it where all ranks take part in one.

Everything is queued, on the current stream and on that of the back-end, each behind what it depends on.
"""

from __future__ import annotations

import functools
import os
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from .._core import (
    ReshardCopies,
    ReshardKernels,
    ReshardProgram,
    reshard_collectives,
    reshard_kernels,
)
from .grouped import agree, exchange, operation
from .messages import Links, peer_failed

# What NCCL's numbers stand for.
TYPES = (
    torch.int8, torch.uint8, torch.int32, torch.uint32, torch.int64, torch.uint64, torch.float16,
    torch.float32, torch.float64, torch.bfloat16,
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def kernels() -> ReshardKernels | None:
    """None where the library is not installed. WEFT_CUDA_LIBRARY names another one."""
    named = os.environ.get("WEFT_CUDA_LIBRARY")
    installed = Path(sysconfig.get_path("data"), "lib", "weft", "libweft-cuda.so")
    if named is None and not installed.exists():
        return None
    return reshard_kernels(named or str(installed))


Wired = tuple[int, int, int, int]
"""Rank, buffer, offset, bytes."""


@dataclass(frozen=True)
class Batch:
    """A ReshardBatch, looked up once."""

    before: ReshardCopies
    after: ReshardCopies
    sends: list[Wired]
    receives: list[Wired]
    staging: int
    collective: tuple[str, int, Wired, Wired] | None


@dataclass(frozen=True)
class Prepared:
    neutral: ReshardCopies
    batches: list[Batch]


@functools.lru_cache(maxsize=256)
def prepared(held: ReshardKernels, program: ReshardProgram, collectives: bool) -> Prepared:
    """All turns, with their copies on the GPU."""
    batches = [
        Batch(one.before, one.after, one.sends, one.receives, one.staging, one.collective)
        for turn in range(program.turns)
        for one in held.batches(program, turn, collectives)
    ]
    return Prepared(held.neutral(program), batches)


def run_with_kernels(
    held: ReshardKernels,
    program: ReshardProgram,
    buffers: Sequence[torch.Tensor],
    links: Links,
) -> None:
    """`buffers`: as the program numbers them, each as bytes, staging included."""
    device = buffers[-1].device
    collectives = agree(program, links, device, reshard_collectives(program))
    addresses = [buffer.data_ptr() for buffer in buffers]
    with torch.cuda.device(device):
        stream = torch.cuda.current_stream().cuda_stream
        work = prepared(held, program, collectives)
        work.neutral.run(addresses, stream)
        for batch in work.batches:
            staging = torch.empty(batch.staging, dtype=torch.uint8, device=device)
            places = [*addresses, staging.data_ptr()]
            memory = [*buffers, staging]
            batch.before.run(places, stream)
            if batch.collective is not None:
                run_collective(batch.collective, memory, links)
            else:
                run_messages(batch, memory, links)
            batch.after.run(places, stream)


def part(memory: Sequence[torch.Tensor], wired: Wired) -> torch.Tensor:
    _, buffer, offset, size = wired
    return memory[buffer][offset : offset + size]


def run_messages(batch: Batch, memory: Sequence[torch.Tensor], links: Links) -> None:
    operations = [
        operation(start, part(memory, wired), wired[0], links)
        for start, wires in ((dist.irecv, batch.receives), (dist.isend, batch.sends))
        for wired in wires
    ]
    exchange(operations, links)


def run_collective(
    collective: tuple[str, int, Wired, Wired], memory: Sequence[torch.Tensor], links: Links
) -> None:
    kind, number, source, target = collective
    dtype = TYPES[number]
    given, wanted = part(memory, source).view(dtype), part(memory, target).view(dtype)
    start = dist.all_gather_into_tensor if kind == "gather" else dist.reduce_scatter_tensor
    try:
        work = start(wanted, given, group=links.group, async_op=True)
    except RuntimeError as error:
        raise peer_failed(dist.get_rank(), error) from error
    links.deadline.wait(work, dist.get_rank())
