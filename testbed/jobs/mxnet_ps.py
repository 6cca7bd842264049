# SPDX-License-Identifier: Apache-2.0
"""Training with MXNet and parameter servers (kvstore dist_sync): workers push gradients and pull
parameters.

DMLC_ROLE and the other DMLC_* variables tell each process its role. The scheduler and the servers
do all of their work inside `import mxnet` and exit there. Worker 0 prints {"step_ms": [...]}.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import mxnet as mx
from mxnet import autograd, gluon, nd

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=1024, help="default: 4 MB of parameters per layer")
parser.add_argument("--batch", type=int, default=16, help="rows per worker")
parser.add_argument("--emulate", type=float, default=0.0, metavar="MS",
                    help="compute only one row, and sleep MS after the gradients")  # fmt: skip
arguments = parser.parse_args()

mx.random.seed(0)
store = mx.kv.create("dist_sync")
net = gluon.nn.HybridSequential()
for _ in range(arguments.layers):
    net.add(gluon.nn.Dense(arguments.width, activation="relu", in_units=arguments.width))
net.initialize(mx.init.Normal(0.02))
trainer = gluon.Trainer(
    net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore=store, update_on_kvstore=True
)
rows = 1 if arguments.emulate else arguments.batch
data = nd.ones((rows, arguments.width))

times = []
for _ in range(arguments.steps):
    start = time.perf_counter()
    with autograd.record():
        loss = nd.mean(nd.square(net(data)))
    loss.backward()
    if arguments.emulate:
        nd.waitall()  # MXNet computes asynchronously: wait for the gradients before the sleep
        time.sleep(arguments.emulate / 1e3)
    trainer.step(1)
    nd.waitall()
    times.append((time.perf_counter() - start) * 1e3)
if store.rank == 0:
    print(json.dumps({"step_ms": times}), flush=True)
