#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts NCCL ranks that share one GPU. Each rank claims to be a separate host, so NCCL connects
the ranks by sockets over loopback.

    one_gpu.py WORLD COMMAND...     # runs the command on every rank
"""

import os
import subprocess
import sys
import time


def environments(world: int, port: int, **more: str) -> list[dict[str, str]]:
    """The environment of each rank. Under MPS each rank gets an equal part of the GPU."""
    common = dict(
        os.environ,
        NCCL_P2P_DISABLE="1",
        NCCL_SHM_DISABLE="1",
        NCCL_IB_DISABLE="1",
        NCCL_SOCKET_IFNAME="lo",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        WORLD_SIZE=str(world),
        LOCAL_RANK="0",
        CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=str(100 // world),
        **more,
    )
    return [dict(common, RANK=str(rank), NCCL_HOSTID=f"host{rank}") for rank in range(world)]


def end_within(ranks: list[subprocess.Popen], seconds: float) -> bool:
    """Waits for all ranks, and kills those that take too long, because a leftover rank would
    disturb the next run. Returns whether all ended in time."""
    try:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and any(rank.poll() is None for rank in ranks):
            time.sleep(0.1)
    finally:
        late = [rank for rank in ranks if rank.poll() is None]
        for rank in late:
            rank.kill()
        for rank in ranks:
            rank.wait()
    return not late


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    ranks = [
        subprocess.Popen(sys.argv[2:], env=env) for env in environments(int(sys.argv[1]), 29548)
    ]
    ended = end_within(ranks, 600)
    return 0 if ended and all(rank.returncode == 0 for rank in ranks) else 1


if __name__ == "__main__":
    sys.exit(main())
