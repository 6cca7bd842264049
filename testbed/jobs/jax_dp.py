# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training with JAX. Each process has one CPU device. Gloo all-reduces the gradients.

MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE tell each process its rank and where to find the
others. Rank 0 prints {"step_ms": [...]}.
"""

from __future__ import annotations

import argparse
import json
import os
import time

rank = int(os.environ.get("RANK", "0"))
world = int(os.environ.get("WORLD_SIZE", "1"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# One thread per process: several ranks share the cores of one machine.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=1024, help="default: 4 MB of gradients per layer")
parser.add_argument("--batch", type=int, default=16, help="rows per process")
parser.add_argument("--emulate", type=float, default=0.0, metavar="MS",
                    help="sleep MS before each step, and compute only one row")  # fmt: skip
arguments = parser.parse_args()

if world > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"{os.environ['MASTER_ADDR']}:{os.environ.get('MASTER_PORT', '29500')}", world, rank
    )

mesh = Mesh(jax.devices(), ("data",))
everywhere = NamedSharding(mesh, P())
rows = (1 if arguments.emulate else arguments.batch) * world
keys = jax.random.split(jax.random.key(0), arguments.layers)
shape = (arguments.width, arguments.width)
params = [jax.device_put(0.02 * jax.random.normal(key, shape), everywhere) for key in keys]
batch = jax.make_array_from_callback(
    (rows, arguments.width),
    NamedSharding(mesh, P("data")),
    lambda index: jnp.ones((rows, arguments.width))[index],
)


def loss_of(params: list[jax.Array], batch: jax.Array) -> jax.Array:
    x = batch
    for layer in params:
        x = jax.nn.relu(x @ layer)
    return jnp.mean(jnp.square(x))


@jax.jit
def train_step(params: list[jax.Array], batch: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, batch)
    return [p - 0.01 * g for p, g in zip(params, gradients)], loss


times = []
for _ in range(arguments.steps):
    start = time.perf_counter()
    if arguments.emulate:
        time.sleep(arguments.emulate / 1e3)
    params, loss = train_step(params, batch)
    jax.block_until_ready(params)
    times.append((time.perf_counter() - start) * 1e3)
if rank == 0:
    print(json.dumps({"step_ms": times}), flush=True)
