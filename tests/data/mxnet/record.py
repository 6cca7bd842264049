# SPDX-License-Identifier: Apache-2.0
"""Records the profiles of this folder: two MXNet workers train with a parameter server, on loopback.

Needs MXNet 1.9.1 with NumPy below 1.24 (`pip install mxnet==1.9.1 "numpy<1.24"`), on Linux.

    python record.py FOLDER     # writes FOLDER/rank0.json.gz and FOLDER/rank1.json.gz
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

WORKERS = 2
STEPS = 3


def work(folder: Path) -> None:
    import mxnet as mx
    from mxnet import autograd, gluon, nd, profiler

    store = mx.kv.create("dist_sync")
    path = folder / f"rank{store.rank}.json"
    profiler.set_config(profile_all=True, aggregate_stats=False, filename=str(path))
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, activation="relu", in_units=32), gluon.nn.Dense(10, in_units=64))
    net.initialize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store, update_on_kvstore=True
    )
    data, labels = nd.random.uniform(shape=(16, 32)), nd.zeros((16,))

    def step() -> None:
        with autograd.record():
            value = loss(net(data), labels)
        value.backward()
        trainer.step(16)
        nd.waitall()

    for _ in range(3):  # warm-up: the first steps also allocate memory and connect to the server
        step()
    profiler.set_state("run")
    domain = profiler.Domain("train")
    for number in range(STEPS):
        task = profiler.Task(domain, f"step {number}")
        task.start()
        step()
        task.stop()
    profiler.set_state("stop")
    profiler.dump()
    with open(path, "rb") as plain, gzip.GzipFile(f"{path}.gz", "wb", mtime=0) as packed:
        packed.write(plain.read())
    path.unlink()


def main() -> None:
    folder = Path(sys.argv[1])
    if os.environ.get("DMLC_ROLE") == "worker":
        return work(folder)
    job = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": "9123",
        "DMLC_NODE_HOST": "127.0.0.1",
        "DMLC_INTERFACE": "lo",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": str(WORKERS),
    }
    serve = [sys.executable, "-c", "import mxnet"]
    commands = [("scheduler", serve), ("server", serve)]
    commands += [("worker", [sys.executable, __file__, str(folder)])] * WORKERS
    started = [
        subprocess.Popen(command, env={**os.environ, **job, "DMLC_ROLE": role})
        for role, command in commands
    ]
    for process in started:
        process.wait(timeout=120)


if __name__ == "__main__":
    main()
