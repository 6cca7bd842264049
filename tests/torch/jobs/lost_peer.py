# SPDX-License-Identifier: Apache-2.0
"""Redistributes an array again and again while one rank is lost. Every other rank prints how its
call ended and how long the call took.

Usage: lost_peer.py killed|stopped|other|sum-killed|sum-stopped TIMEOUT_SECONDS

sum-*: the redistribution is an all-reduce, which is one collective if ranks do not use shared
memory.
other: the rank redistributes another array instead.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard

import weft
import weft.torch
from tests.torch.jobs.oracle import check, distributed, numbers
from weft.torch import packing

LOST = 2


def leave_in_the_middle(how: str) -> None:
    """Make this rank end after it has packed a few pieces. With shared memory, and for collectives,
    the pieces are not packed in Python, so the rank ends after some time instead."""
    usual = packing.HostPacking.pack
    packed = []

    def leave() -> None:
        os.kill(os.getpid(), signal.SIGKILL if how.endswith("killed") else signal.SIGSTOP)

    def pack(self: Any, turn: int, piece: int, out: torch.Tensor) -> None:
        packed.append(piece)
        if len(packed) == 4:
            leave()
        usual(self, turn, piece, out)

    packing.HostPacking.pack = pack  # type: ignore[method-assign]
    if os.environ.get("WEFT_SHARED_MEMORY") != "0" or how.startswith("sum"):
        threading.Timer(0.3, leave).start()


def main() -> None:
    how, seconds = sys.argv[1], float(sys.argv[2])
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (4,))
    whole = numbers((1024, 1024))
    sums = how.startswith("sum")
    array = distributed(whole, mesh, [Partial() if sums else Shard(0)])
    target: list[Any] = [Replicate() if sums else Shard(1)]
    budget = None if sums else 200_000
    check(weft.torch.redistribute(array, mesh, target), whole, mesh, target)
    if rank == LOST and how != "other":
        leave_in_the_middle(how)
    if rank == LOST and how == "other":
        target = [Replicate()]
    begin = time.monotonic()
    ended = "done"
    try:
        while True:
            result = weft.torch.redistribute(array, mesh, target, budget=budget, timeout=seconds)
            check(result, whole, mesh, target)
    except weft.PeerFailed as error:
        ended = f"PeerFailed: {error}"
    took = time.monotonic() - begin
    print(json.dumps({"rank": rank, "ended": ended, "seconds": took}), flush=True)
    # End without torch's shutdown, which would wait for ranks that are gone.
    os._exit(0)


if __name__ == "__main__":
    main()
