# SPDX-License-Identifier: Apache-2.0
"""Runs a program with groups of sends and receives, which NCCL needs.

A group is a list of messages that the back-end starts together. Each message carries one piece of
data. A group has at most one piece to each other rank and at most one piece from each other rank.
The k-th group of a rank exchanges pieces only with the k-th groups of other ranks. So ranks never
wait for each other in a circle.

The host never waits: copies are queued on the current stream, and messages on the stream of the
back-end, each after the work on which it depends.
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
"""Bytes of staging memory for messages that are being sent or received, if the caller gives no
budget."""


_agreed: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[tuple[int, bool], bool]] = (
    weakref.WeakKeyDictionary()
)
"""The results of agree(), so that ranks ask each other only once per program. The first key is the
process group, the second is (fingerprint of the program, whether `found` was given)."""


def agree(
    program: ReshardProgram, links: Links, device: torch.device, found: int | None = None
) -> bool:
    """Before the first run of a program, check that all ranks run the same one.

    NCCL messages have no tags, so ranks with different programs would silently receive wrong data.
    Raises PeerFailed if a peer runs another program.

    found: a number that identifies the way in which this rank would run the program. The function
    returns true only if all ranks have the same number. Ranks compare their numbers only with ranks
    that they exchange messages with. So the result is false unless every rank exchanges messages
    with every other rank.
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
    # The second number also depends on whether this rank exchanges messages with all other ranks,
    # because agree() may return true only if this holds for every rank.
    reported = hash((found or 0, len(peers) + 1 == dist.get_world_size())) % (1 << 62)
    mine = torch.tensor([program.fingerprint % (1 << 62), reported], device=device)
    theirs = torch.zeros(len(peers), 2, dtype=torch.int64, device=device)
    exchange(
        [(theirs[number], peer) for number, peer in enumerate(peers)],
        [(mine, peer) for peer in peers],
        links,
    )
    own = mine.tolist()
    for peer, words in zip(peers, theirs.tolist()):
        if words[0] != own[0]:
            raise PeerFailed(
                f"rank {peer} redistributes another array at the same time: all ranks must make "
                "the same calls in the same order"
            )
    alike = all(words == own for words in theirs.tolist())
    known[key] = alike and len(peers) + 1 == dist.get_world_size()
    return known[key]


def longest_piece(staging: int, devices: int) -> int:
    """The longest piece, in bytes, for which all sent and received pieces of a group fit into
    `staging` bytes."""
    return staging // (2 * max(1, devices - 1))


def groups(pieces: Sequence[Piece]) -> list[list[int]]:
    """Divide the pieces into groups: the k-th group has the k-th piece of every peer."""
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
    """Like messages.run_program(), but with groups."""
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
"""The memory of a message, and the rank to which it goes or from which it comes."""


def exchange(receives: Sequence[Message], sends: Sequence[Message], links: Links) -> None:
    """Send and receive all messages as one group of the back-end. This does the same as
    dist.batch_isend_irecv(), but faster, because it does not look up the group for every
    message."""
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
