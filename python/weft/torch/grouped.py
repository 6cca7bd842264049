# SPDX-License-Identifier: Apache-2.0
"""Carries out a program in groups of sends and receives, as NCCL wants them: a group holds one piece
for every other rank and one from it, so that groups of all ranks fit together and none waits in a circle.

Everything is queued: copies on the current stream, messages on that of the back-end, each behind
what it depends on.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import torch
import torch.distributed as dist

from .._core import ReshardProgram
from ..errors import PeerFailed
from .messages import Links, Piece, peer_failed
from .packing import Packing

STAGING = 256 << 20
"""Bytes for messages under way, where no budget is given."""


_agreed: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[int, bool]] = weakref.WeakKeyDictionary()
"""Programs that all ranks of a group are known to have begun together, and whether they found the same
collectives in them."""


def agree(program: ReshardProgram, links: Links, device: torch.device, found: int = 0) -> bool:
    """Messages have no tags here: before its first run ranks tell each other which program it is.

    found: what this rank has found in it besides; True if all ranks have found the same, which they can
    only tell where each has a message for each other.
    """
    known = _agreed.setdefault(links.group or dist.group.WORLD, {})
    if program.fingerprint in known:
        return known[program.fingerprint]
    peers = sorted(
        {
            piece[0]
            for turn in range(program.turns)
            for piece in program.sends(turn) + program.receives(turn)
        }
    )
    mine = torch.tensor([program.fingerprint % (1 << 62), found % (1 << 62)], device=device)
    theirs = torch.zeros(len(peers), 2, dtype=torch.int64, device=device)
    operations = []
    for number, peer in enumerate(peers):
        operations.append(operation(dist.irecv, theirs[number], peer, links))
        operations.append(operation(dist.isend, mine, peer, links))
    exchange(operations, links)
    own = mine.tolist()
    for peer, words in zip(peers, theirs.tolist()):
        if words[0] != own[0]:
            raise PeerFailed(f"rank {peer} redistributes something else at the same time")
    alike = all(words == own for words in theirs.tolist())
    known[program.fingerprint] = alike and len(peers) + 1 == dist.get_world_size(links.group)
    return known[program.fingerprint]


def longest_piece(room: int, devices: int) -> int:
    """So that a group fits into `room` bytes."""
    return room // (2 * max(1, devices - 1))


def groups(pieces: Sequence[Piece]) -> list[list[int]]:
    """The k-th piece for every peer, by k."""
    found: list[list[int]] = []
    seen: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        k = seen[piece[0]] = seen.get(piece[0], -1) + 1
        if k == len(found):
            found.append([])
        found[k].append(number)
    return found


def run_grouped(
    program: ReshardProgram,
    packing: Packing,
    buffers: Sequence[torch.Tensor],
    links: Links,
) -> None:
    agree(program, links, buffers[-1].device)
    packing.fill_neutral()
    for turn in range(program.turns):
        packing.move(turn)
        sends, receives = program.sends(turn), program.receives(turn)
        out, into = groups(sends), groups(receives)
        for k in range(max(len(out), len(into))):
            operations, come = [], []
            for number in into[k] if k < len(into) else ():
                memory = place(receives[number], buffers)
                operations.append(operation(dist.irecv, memory, receives[number][0], links))
                if receives[number][2] < 0:
                    come.append((number, memory))
            for number in out[k] if k < len(out) else ():
                memory = place(sends[number], buffers)
                if sends[number][2] < 0:
                    packing.pack(turn, number, memory)
                operations.append(operation(dist.isend, memory, sends[number][0], links))
            exchange(operations, links)
            for number, memory in come:
                packing.unpack(turn, number, memory)


def place(piece: Piece, buffers: Sequence[torch.Tensor]) -> torch.Tensor:
    _, size, buffer, offset = piece
    if buffer < 0:
        return torch.empty(size, dtype=torch.uint8, device=buffers[-1].device)
    return buffers[buffer][offset : offset + size]


def operation(start: object, memory: torch.Tensor, peer: int, links: Links) -> dist.P2POp:
    return dist.P2POp(start, memory, peer, group=links.group, tag=links.tag)


def exchange(operations: list[dist.P2POp], links: Links) -> None:
    if not operations:
        return
    try:
        started = dist.batch_isend_irecv(operations)
    except RuntimeError as error:
        raise peer_failed(operations[0].peer, error) from error
    for number, work in enumerate(started):
        links.deadline.wait(work, operations[number].peer)
