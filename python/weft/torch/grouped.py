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
from .messages import Links, Piece, Turn, peer_failed
from .packing import Packing

STAGING = 256 << 20
"""Bytes for messages under way, where no budget is given."""


_agreed: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[tuple[int, bool], bool]] = (
    weakref.WeakKeyDictionary()
)
"""Programs that all ranks of a group are known to have begun together, with or without telling what they
have found in them, and whether that was the same."""


def agree(
    program: ReshardProgram, links: Links, device: torch.device, found: int | None = None
) -> bool:
    """Messages have no tags here: before its first run ranks tell each other which program it is.

    found: what this rank has found in it besides; True if all ranks have found the same, which they can
    only tell where each has a message for each other.
    """
    known = _agreed.setdefault(dist.group.WORLD, {})
    key = (program.fingerprint, found is not None)
    if key in known:
        return known[key]
    peers = sorted(
        {
            piece[0]
            for turn in range(program.turns)
            for piece in program.sends(turn) + program.receives(turn)
        }
    )
    # A rank that has a message for all others must know whether each of them has, too.
    told = hash((found or 0, len(peers) + 1 == dist.get_world_size())) % (1 << 62)
    mine = torch.tensor([program.fingerprint % (1 << 62), told], device=device)
    theirs = torch.zeros(len(peers), 2, dtype=torch.int64, device=device)
    exchange(
        [(theirs[number], peer) for number, peer in enumerate(peers)],
        [(mine, peer) for peer in peers],
        links,
    )
    own = mine.tolist()
    for peer, words in zip(peers, theirs.tolist()):
        if words[0] != own[0]:
            raise PeerFailed(f"rank {peer} redistributes something else at the same time")
    alike = all(words == own for words in theirs.tolist())
    known[key] = alike and len(peers) + 1 == dist.get_world_size()
    return known[key]


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
    turns: Sequence[Turn],
    packing: Packing,
    buffers: Sequence[torch.Tensor],
    links: Links,
) -> None:
    """As messages.run_program."""
    agree(program, links, buffers[-1].device)
    packing.fill_neutral()
    for turn, (sends, receives) in enumerate(turns):
        packing.move(turn)
        out, into = groups(sends), groups(receives)
        for k in range(max(len(out), len(into))):
            come = [(number, place(receives[number], buffers)) for number in of(into, k)]
            gone = [(number, place(sends[number], buffers)) for number in of(out, k)]
            for number, memory in gone:
                if sends[number][2] < 0:
                    packing.pack(turn, number, memory)
            exchange(
                [(memory, receives[number][0]) for number, memory in come],
                [(memory, sends[number][0]) for number, memory in gone],
                links,
            )
            for number, memory in come:
                if receives[number][2] < 0:
                    packing.unpack(turn, number, memory)


def of(numbers: list[list[int]], k: int) -> list[int]:
    return numbers[k] if k < len(numbers) else []


def place(piece: Piece, buffers: Sequence[torch.Tensor]) -> torch.Tensor:
    _, size, buffer, offset = piece
    if buffer < 0:
        return torch.empty(size, dtype=torch.uint8, device=buffers[-1].device)
    return buffers[buffer][offset : offset + size]


Message = tuple[torch.Tensor, int]
"""Memory, and the rank that it goes to or comes from."""


def exchange(receives: Sequence[Message], sends: Sequence[Message], links: Links) -> None:
    """One group of the back-end: what dist.batch_isend_irecv does, without what it looks up a message."""
    if not receives and not sends:
        return
    group, (first, peer) = dist.group.WORLD, (*receives, *sends)[0]
    together = group._get_backend(first.device).supports_coalescing
    try:
        if together:
            group._start_coalescing(first.device)
        works = [(group.recv([memory], peer, links.tag), peer) for memory, peer in receives]
        works += [(group.send([memory], peer, links.tag), peer) for memory, peer in sends]
        if together:
            works = [(group._end_coalescing(first.device), peer)]
    except RuntimeError as error:
        raise peer_failed(peer, error) from error
    for work, peer in works:
        links.deadline.wait(work, peer)
