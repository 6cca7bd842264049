# SPDX-License-Identifier: Apache-2.0
"""Records the timelines of this folder: two Horovod ranks train over gloo, on loopback.

Needs Horovod 0.28.1 with PyTorch and gloo; README.md says how to build it.

    python record.py FOLDER     # writes FOLDER/timeline.json.gz and FOLDER/cached.json.gz
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

RANKS = 2
STEPS = 6
LATE_RANK = 1
LATE_SECONDS = 0.02


def work() -> None:
    import horovod.torch as hvd  # type: ignore[import-not-found]
    import torch

    hvd.init()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64), torch.nn.Linear(64, 10)
    )
    optimiser = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.01), named_parameters=net.named_parameters()
    )
    hvd.broadcast_parameters(net.state_dict(), root_rank=0)
    data, labels = torch.rand(32, 64), torch.randint(0, 10, (32,))
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(data), labels)
        if hvd.rank() == LATE_RANK:
            time.sleep(LATE_SECONDS)
        loss.backward()
        optimiser.step()
    hvd.shutdown()


def record(path: Path, settings: dict[str, str]) -> None:
    from horovod.runner.common.util.hosts import (  # type: ignore[import-not-found]
        get_host_assignments,
        parse_hosts,
    )
    from horovod.runner.http.http_server import (  # type: ignore[import-not-found]
        RendezvousHandler,
        RendezvousHTTPServer,
    )
    # serve_forever() is called here because Horovod's own start method listens on all addresses.
    server = RendezvousHTTPServer(("127.0.0.1", 0), RendezvousHandler, 0)
    server.init(get_host_assignments(parse_hosts(f"localhost:{RANKS}"), RANKS))
    Thread(target=server.serve_forever, daemon=True).start()
    job = {
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(server.server_address[1]),
        "HOROVOD_GLOO_IFACE": "lo",
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_HOSTNAME": "localhost",
        "HOROVOD_SIZE": str(RANKS),
        "HOROVOD_LOCAL_SIZE": str(RANKS),
        "HOROVOD_CROSS_RANK": "0",
        "HOROVOD_CROSS_SIZE": "1",
        "HOROVOD_TIMELINE": str(path),
        **settings,
    }
    started = []
    for rank in range(RANKS):
        place = {"HOROVOD_RANK": str(rank), "HOROVOD_LOCAL_RANK": str(rank)}
        command = [sys.executable, __file__, "work"]
        started.append(subprocess.Popen(command, env={**os.environ, **job, **place}))
    try:
        for process in started:
            if process.wait(timeout=120) != 0:
                raise SystemExit(f"a rank ended with status {process.returncode}")
    finally:
        for process in started:
            process.kill()
        server.shutdown()
    with open(path, "rb") as plain, gzip.GzipFile(f"{path}.gz", "wb", mtime=0) as packed:
        packed.write(plain.read())
    path.unlink()


def main() -> None:
    if sys.argv[1] == "work":
        return work()
    folder = Path(sys.argv[1])
    cycles = {"HOROVOD_TIMELINE_MARK_CYCLES": "1"}
    record(folder / "timeline.json", {**cycles, "HOROVOD_CACHE_CAPACITY": "0"})
    record(folder / "cached.json", {})


if __name__ == "__main__":
    main()
