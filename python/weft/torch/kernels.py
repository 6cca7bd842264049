# SPDX-License-Identifier: Apache-2.0
"""Runs a program on GPUs with Weft's own kernels.

All copies of a turn are done by one kernel launch. The messages of a turn are one group of the
back-end. If all ranks take part in the turn, they may instead be one collective.

The host never waits: work is queued on the current stream and on the stream of the back-end, each
piece after the work on which it depends.
"""

from __future__ import annotations

import functools
import os
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
from . import native
from .grouped import Message, agree, exchange
from .messages import Links, peer_failed

# The element types in the order of NCCL's numbers (ncclDataType_t).
TYPES = (
    torch.int8, torch.uint8, torch.int32, torch.uint32, torch.int64, torch.uint64, torch.float16,
    torch.float32, torch.float64, torch.bfloat16,
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def kernels() -> ReshardKernels | None:
    """The library libweft-cuda.so; None if it is not installed. The environment variable
    WEFT_CUDA_LIBRARY can name another path."""
    named = os.environ.get("WEFT_CUDA_LIBRARY")
    installed = Path(__file__).parent.parent / "_native" / "lib" / "libweft-cuda.so"
    if named is None and not installed.exists():
        return None
    return reshard_kernels(named or str(installed))


Wired = tuple[int, int, int, int]
"""A message: rank, buffer, offset, bytes."""


@dataclass(frozen=True)
class Batch:
    """The fields of a ReshardBatch, so that they are read only once. `before` and `after` are None
    if there is nothing to copy."""

    before: ReshardCopies | None
    after: ReshardCopies | None
    sends: list[Wired]
    receives: list[Wired]
    staging: int
    collective: tuple[str, int, Wired, Wired] | None


@dataclass(frozen=True)
class Queue:
    """A program with its kernel launches, which can be queued any number of times."""

    neutral: ReshardCopies | None
    batches: list[Batch]
    # All ranks have the same number of batches, and each batch has at most one message per pair of
    # ranks.
    all_ranks: bool

    def run(self, buffers: Sequence[torch.Tensor], links: Links) -> None:
        """Queue the program. `buffers` are the buffers of the program in its order, including
        staging memory. Each is a tensor of bytes."""
        device = buffers[-1].device
        addresses = [buffer.data_ptr() for buffer in buffers]
        with torch.cuda.device(device):
            stream = torch.cuda.current_stream().cuda_stream
            if self.neutral is not None:
                self.neutral.run(addresses, stream)
            for batch in self.batches:
                staging = torch.empty(batch.staging, dtype=torch.uint8, device=device)
                places = [*addresses, staging.data_ptr()]
                memory = [*buffers, staging]
                if batch.before is not None:
                    batch.before.run(places, stream)
                if batch.collective is not None:
                    run_collective(batch.collective, memory, links)
                elif self.all_ranks:
                    run_all_to_all(batch, memory, links)
                else:
                    exchange(parts(memory, batch.receives), parts(memory, batch.sends), links)
                if batch.after is not None:
                    batch.after.run(places, stream)


@functools.lru_cache(maxsize=256)
def prepared(held: ReshardKernels, program: ReshardProgram, collectives: bool) -> list[list[Batch]]:
    """The batches of all turns. Preparing their copies on the GPU takes time, so the result is
    kept for later calls."""
    return [
        [
            Batch(
                one.before or None,
                one.after or None,
                one.sends,
                one.receives,
                one.staging,
                one.collective,
            )
            for one in held.batches(program, turn, collectives)
        ]
        for turn in range(program.turns)
    ]


def queue_of(
    held: ReshardKernels, program: ReshardProgram, links: Links, device: torch.device
) -> Queue:
    """Prepare a program. All of its ranks call this when they first use the program.

    A rank may use collectives and all-to-alls instead of messages only if all ranks do so. So each
    rank sends the others a number that identifies what it would do; see agree().
    """
    plain = prepared(held, program, False)
    # An all-to-all is possible only if there is at most one message per pair of ranks.
    once = all(
        len(turn) <= 1 and distinct(one.sends) and distinct(one.receives)
        for turn in plain
        for one in turn
    )
    found = hash((reshard_collectives(program), once, tuple(map(len, plain))))
    alike = agree(program, links, device, found)
    turns = prepared(held, program, True) if alike else plain
    batches = [one for turn in turns for one in turn]
    return Queue(held.neutral(program) or None, batches, alike and once)


def distinct(wires: Sequence[Wired]) -> bool:
    return len({wired[0] for wired in wires}) == len(wires)


def parts(memory: Sequence[torch.Tensor], wires: Sequence[Wired]) -> list[Message]:
    return [(part(memory, wired), wired[0]) for wired in wires]


def part(memory: Sequence[torch.Tensor], wired: Wired) -> torch.Tensor:
    _, buffer, offset, size = wired
    whole = memory[buffer]
    return whole if whole.numel() == size else whole[offset : offset + size]


def run_all_to_all(batch: Batch, memory: Sequence[torch.Tensor], links: Links) -> None:
    """Send the messages of all ranks as one all-to-all. A rank that has no message for another rank
    sends an empty tensor, which costs nothing."""
    world = range(dist.get_world_size())
    nothing = memory[-1][:0]
    given, wanted = [nothing for _ in world], [nothing for _ in world]
    for there, wires in ((given, batch.sends), (wanted, batch.receives)):
        for wired in wires:
            there[wired[0]] = part(memory, wired)
    try:
        work = dist.group.WORLD.alltoall(wanted, given, dist.AllToAllOptions())
    except RuntimeError as error:
        raise peer_failed(list(world), error) from error
    links.deadline.wait(work, list(world))


def run_collective(
    collective: tuple[str, int, Wired, Wired], memory: Sequence[torch.Tensor], links: Links
) -> None:
    kind, number, source, target = collective
    dtype = TYPES[number]
    given, wanted = part(memory, source).view(dtype), part(memory, target).view(dtype)
    start = native.gather if kind == "gather" else native.scatter
    try:
        work = start(wanted, given, async_op=True)
    except RuntimeError as error:
        raise peer_failed(range(dist.get_world_size()), error) from error
    links.deadline.wait(work, range(dist.get_world_size()))
