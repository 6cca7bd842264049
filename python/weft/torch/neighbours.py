# SPDX-License-Identifier: Apache-2.0
"""Ranks that are all on one host exchange through memory that they share, where all of them can.

Ranks agree once for each set of them: the first makes the memory, the others say whether they found
it, and the first says whether all did. So all take the same way, whatever is different on one of them.
WEFT_SHARED_MEMORY=0 in the environment of any of them makes all of them do without.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from .._core import ReshardNeighbours, ReshardProgram
from ..errors import PeerFailed, Unavailable
from .messages import Links

MOST = 128  # ranks: there is a lane for each pair
NAME = 64  # bytes

# By ranks: the process group's store at that time, and the connection or None.
_agreed: dict[tuple[int, ...], tuple[Any, ReshardNeighbours | None]] = {}


def neighbours_of(ranks: tuple[int, ...], links: Links) -> ReshardNeighbours | None:
    """All of `ranks` (sorted) call it at once, in the same order; None on all of them, or on none.

    links: how they talk until they know. Later calls cost nothing.
    """
    if not 1 < len(ranks) <= MOST:
        return None
    # A new process group may have other processes.
    group = dist.distributed_c10d._get_default_store()
    known = _agreed.get(ranks)
    if known is None or known[0] is not group:
        known = _agreed[ranks] = (group, _agree(ranks, links))
    return known[1]


def _agree(ranks: Sequence[int], links: Links) -> ReshardNeighbours | None:
    first, *others = ranks
    rank = dist.get_rank()
    name = torch.zeros(NAME, dtype=torch.uint8)
    verdict = torch.zeros(1, dtype=torch.uint8)
    if rank == first:
        mine = _try(lambda: ReshardNeighbours.create(len(ranks)))
        if mine is not None:
            text = mine.name.encode()
            name[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        _all(links, [links.send(name, other) for other in others], others)
        answers = torch.zeros(len(others), dtype=torch.uint8)
        waits = [links.receive(answers[i : i + 1], other) for i, other in enumerate(others)]
        _all(links, waits, others)
        verdict[0] = int(mine is not None and bool(answers.all()))
        _all(links, [links.send(verdict, other) for other in others], others)
    else:
        _all(links, [links.receive(name, first)], [first])
        text = bytes(name.tolist()).rstrip(b"\0")
        mine = _try(lambda: ReshardNeighbours.join(text.decode(), len(ranks))) if text else None
        answer = torch.tensor([int(mine is not None)], dtype=torch.uint8)
        _all(links, [links.send(answer, first)], [first])
        _all(links, [links.receive(verdict, first)], [first])
    if mine is None or not verdict[0]:
        return None
    mine.connect(ranks.index(rank))
    return mine


def _try(make: Callable[[], ReshardNeighbours]) -> ReshardNeighbours | None:
    if os.environ.get("WEFT_SHARED_MEMORY") == "0":
        return None
    try:
        return make()
    except Unavailable:
        return None


def _all(links: Links, works: Sequence[Any], peers: Sequence[int]) -> None:
    for work, peer in zip(works, peers):
        links.deadline.wait(work, peer)


def tag_of(ranks: Sequence[int]) -> int:
    """Of messages by which these ranks agree; programs have smaller ones."""
    return (1 << 30) + int.from_bytes(hashlib.sha256(repr(tuple(ranks)).encode()).digest()[:3], "big")


def run_shared(
    near: ReshardNeighbours,
    program: ReshardProgram,
    buffers: Sequence[torch.Tensor],
    ranks: Sequence[int],
    seconds: float,
) -> None:
    """`buffers`: as the program numbers them, without staging."""
    try:
        near.run(program, [buffer.data_ptr() for buffer in buffers], seconds)
    except PeerFailed as error:
        text = re.sub(r"device (\d+)", lambda found: f"rank {ranks[int(found[1])]}", str(error))
        raise PeerFailed(
            f"{text}: what was to be received is undefined, and the process group cannot be used again"
        ) from error
