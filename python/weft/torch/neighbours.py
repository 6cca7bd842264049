# SPDX-License-Identifier: Apache-2.0
"""Exchanges data through shared memory between ranks that are all on one host.

Each set of ranks agrees once on whether to use shared memory. The first rank creates the shared
memory and sends its name to the others. The others report whether they could join. The first rank
then tells them whether all could. So either all ranks use shared memory or none does, even if one
of them is set up differently. If any rank has WEFT_SHARED_MEMORY=0 in its environment, none uses
it.
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

MOST = 128  # ranks; every pair of ranks has memory of its own, so the size grows with their square
NAME = 64  # bytes of the message with the name

# By set of ranks: the process group's store at the time of agreement, and the connection or None.
_agreed: dict[tuple[int, ...], tuple[Any, ReshardNeighbours | None]] = {}


def neighbours_of(ranks: tuple[int, ...], links: Links) -> ReshardNeighbours | None:
    """The shared memory of `ranks` (sorted); None on all of them if one of them cannot use it.

    All of the ranks make this call at the same time, and calls for several sets in the same order.
    The first call exchanges messages over `links`; later calls cost nothing.
    """
    if not 1 < len(ranks) <= MOST:
        return None
    # The store identifies the process group: a new group may
    # have the same ranks in other processes.
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
    """The tag of the messages in which these ranks agree. Tags of programs are below 2**30."""
    digest = hashlib.sha256(repr(tuple(ranks)).encode()).digest()
    return (1 << 30) + int.from_bytes(digest[:3], "big")


def run_shared(
    shared: ReshardNeighbours,
    program: ReshardProgram,
    buffers: Sequence[torch.Tensor],
    ranks: Sequence[int],
    seconds: float,
) -> None:
    """Run a program. `buffers`: in the program's order, without staging memory."""
    try:
        shared.run(program, [buffer.data_ptr() for buffer in buffers], seconds)
    except PeerFailed as error:
        # The library numbers the processes 0, 1, 2 ...; the user knows their ranks.
        text = re.sub(r"device (\d+)", lambda found: f"rank {ranks[int(found[1])]}", str(error))
        raise PeerFailed(
            f"{text}: the result is undefined, and the process group cannot be used again"
        ) from error
