# SPDX-License-Identifier: Apache-2.0
"""Runs a program over torch.distributed, on any back-end that has send and receive.

A contiguous piece is sent from and received into the array itself. Any other piece goes through a
block of staging memory. There are only a few blocks. So a rank cannot start all sends and receives
at once. It starts the sends in the order of the program, and the receives too. This order prevents
deadlock, provided that a rank never stops sending while it waits for a receive. So if the main
thread cannot start all sends at once, a second thread does the sends.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from ..errors import PeerFailed

if TYPE_CHECKING:
    from .._core import ReshardProgram
    from .packing import Packing

Piece = tuple[int, int, int, int]
"""Rank, bytes, buffer and offset. Buffer -1: the piece is not contiguous and has to be packed."""

BLOCKS = 2  # blocks of staging memory per direction
MOST_IN_FLIGHT = 64  # sends or receives that have been started and not awaited, per direction


Peers = int | Sequence[int]
"""The rank at the other end of a message, or all ranks of a collective."""


def named(peers: Peers) -> str:
    return f"rank {peers}" if isinstance(peers, int) else "rank " + " or ".join(map(str, peers))


def peer_failed(peers: Peers, error: BaseException) -> PeerFailed:
    return PeerFailed(
        f"{named(peers)} failed or did not answer in time ({_first(error)}): the result is "
        "undefined, and the process group cannot be used again"
    )


class Deadline:
    """When to give up waiting for other ranks.

    queued: wait() does not wait for the message but only makes the GPU stream wait for it, as with
    NCCL. If a message never comes, NCCL's own watchdog ends the process after the timeout of the
    process group.
    watch: with `queued`, wait on the host for every message, so that a timeout becomes an
    exception.
    group: the process group of the messages; default: the default group.
    """

    def __init__(
        self, seconds: float, queued: bool = False, watch: bool = False, group: Any = None
    ) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._queued, self._watch = queued, watch
        self._group = group

    def wait(self, work: Any, peers: Peers) -> None:
        # Some back-ends take a timeout of zero as no timeout.
        left = timedelta(seconds=max(0.001, self._end - time.monotonic()))
        try:
            done = work.wait() if self._queued else work.wait(left)
            while self._queued and self._watch and not work.is_completed():
                if time.monotonic() > self._end:
                    # Without abort() the GPU, and with it the process, would wait forever.
                    (self._group or dist.group.WORLD).abort()
                    raise RuntimeError("timed out")
                time.sleep(0.0001)
        except RuntimeError as error:
            raise peer_failed(peers, error) from error
        if done is False:
            raise PeerFailed(f"{named(peers)} did not answer within {self._seconds:g} s")


def _first(error: BaseException) -> str:
    """The first sentence of the error, without the source position that back-ends put before it."""
    text = re.sub(r"^\[[^]]*\] *", "", str(error).strip())
    return re.split(r"\. |\n", text)[0] or type(error).__name__


class Links:
    """Sends and receives messages of one program, with its tag and its deadline."""

    def __init__(self, deadline: Deadline, tag: int, group: Any = None) -> None:
        self.deadline = deadline
        self.tag = tag  # tags keep ranks from receiving messages of another program
        self.group = group
        # In the default group, group ranks are global ranks. So the group can be called directly,
        # without torch's translation of ranks at every message.
        self._world = dist.group.WORLD if group is None else None

    def send(self, memory: torch.Tensor, peer: int) -> Any:
        try:
            if self._world is not None:
                return self._world.send([memory], peer, self.tag)
            return dist.isend(memory, peer, group=self.group, tag=self.tag)
        except RuntimeError as error:
            raise peer_failed(peer, error) from error

    def receive(self, memory: torch.Tensor, peer: int) -> Any:
        try:
            if self._world is not None:
                return self._world.recv([memory], peer, self.tag)
            return dist.irecv(memory, peer, group=self.group, tag=self.tag)
        except RuntimeError as error:
            raise peer_failed(peer, error) from error


class Staging:
    """Blocks of staging memory for messages in flight in one direction, allocated when needed."""

    def __init__(self, size: int, device: torch.device) -> None:
        self._size, self._device = size, device
        self.free: list[torch.Tensor] = []
        self._made = 0

    def take(self) -> torch.Tensor | None:
        if not self.free and self._made < BLOCKS:
            self._made += 1
            self.free.append(torch.empty(self._size, dtype=torch.uint8, device=self._device))
        return self.free.pop() if self.free else None


class Lane:
    """The sends or the receives of a turn. Pieces are started in order and finished in order."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        staging: Staging,
        start: Callable[[int, Piece, torch.Tensor], Any],
        finish: Callable[[int, Piece, torch.Tensor | None], None],
        links: Links,
        buffers: Sequence[torch.Tensor],
    ) -> None:
        self._pieces, self._staging = pieces, staging
        self._start, self._finish = start, finish
        self._links, self._buffers = links, buffers
        self._in_flight: deque[tuple[Any, int, torch.Tensor | None]] = deque()
        self._next = 0

    def fill(self) -> bool:
        """Start as many pieces as blocks and limits allow.
        Returns whether all have been started."""
        while self._next < len(self._pieces):
            piece = self._pieces[self._next]
            _, size, buffer, offset = piece
            block = None
            if buffer >= 0:
                if len(self._in_flight) >= MOST_IN_FLIGHT:
                    return False
                memory = self._buffers[buffer][offset : offset + size]
            else:
                block = self._staging.take()
                if block is None:
                    return False
                memory = block[:size]
            self._in_flight.append((self._start(self._next, piece, memory), self._next, block))
            self._next += 1
        return True

    def run(self) -> None:
        while not self.fill():
            self._end_one()
        while self._in_flight:
            self._end_one()

    def _end_one(self) -> None:
        work, number, block = self._in_flight.popleft()
        piece = self._pieces[number]
        self._links.deadline.wait(work, piece[0])
        self._finish(number, piece, block)
        if block is not None:
            self._staging.free.append(block)


class _Thread(threading.Thread):
    """A thread that keeps its exception for the thread that joins it."""

    def __init__(self, run: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = run
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error


Turn = tuple[list[Piece], list[Piece]]
"""The pieces that a rank sends and those that it receives in one turn of a program."""


def turns_of(program: ReshardProgram) -> list[Turn]:
    return [(program.sends(turn), program.receives(turn)) for turn in range(program.turns)]


def run_program(
    program: ReshardProgram,
    turns: Sequence[Turn],
    packing: Packing,
    buffers: Sequence[torch.Tensor],
    links: Links,
) -> None:
    """Run a program.

    turns: turns_of(program).
    buffers: in the program's order, each as a tensor of bytes, including staging memory.
    """
    packing.fill_neutral()
    device = buffers[-1].device
    size = program.longest_packed
    outgoing, incoming = Staging(size, device), Staging(size, device)
    for number, turn in enumerate(turns):
        _run_turn(number, turn, packing, buffers, links, outgoing, incoming)


def _run_turn(
    turn: int,
    pieces: Turn,
    packing: Packing,
    buffers: Sequence[torch.Tensor],
    links: Links,
    outgoing: Staging,
    incoming: Staging,
) -> None:
    def send(number: int, piece: Piece, memory: torch.Tensor) -> Any:
        if piece[2] < 0:
            packing.pack(turn, number, memory)
        return links.send(memory, piece[0])

    def receive(_number: int, piece: Piece, memory: torch.Tensor) -> Any:
        return links.receive(memory, piece[0])

    def put(number: int, piece: Piece, block: torch.Tensor | None) -> None:
        if block is not None:
            packing.unpack(turn, number, block[: piece[1]])

    def nothing(_number: int, _piece: Piece, _block: torch.Tensor | None) -> None:
        pass

    sends, receives = pieces
    out = Lane(sends, outgoing, send, nothing, links, buffers)
    into = Lane(receives, incoming, receive, put, links, buffers)
    # Receives are started first, so that peers find them when their messages arrive.
    into.fill()
    sender = None
    if not out.fill() and receives:
        sender = _Thread(out.run)
        sender.start()
    # Before any unpack(): received addends are added to the data that stays on this rank.
    packing.move(turn)
    try:
        into.run()
    finally:
        if sender is not None:
            sender.join()
    if sender is not None and sender.error is not None:
        raise sender.error
    out.run()
