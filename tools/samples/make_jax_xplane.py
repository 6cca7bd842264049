# SPDX-License-Identifier: Apache-2.0
"""Records jax-4dev.xplane.pb.gz: three data-parallel training steps on four CPU devices of one
process. Needs `jax` from PyPI; the version for CPUs is enough. Usage:

    python tools/samples/make_jax_xplane.py tests/data/xplane/jax-4dev.xplane.pb.gz
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import glob
import gzip
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

DEVICES, STEPS = 4, 3
mesh = Mesh(np.array(jax.devices()), ("data",))


def loss(weights, batch):
    hidden = jnp.tanh(batch @ weights["first"])
    return jnp.mean((hidden @ weights["second"]) ** 2)


def train_step(weights, batch):
    gradients = jax.lax.pmean(jax.grad(loss)(weights, batch), "data")
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)


step = jax.jit(
    jax.shard_map(train_step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
)
weights = {"first": jnp.ones((64, 128)), "second": jnp.ones((128, 32))}
batch = jax.device_put(jnp.ones((DEVICES * 16, 64)), NamedSharding(mesh, P("data")))
# Warm-up, so that the profile shows no compilation. Two calls are needed: the second call gets the
# sharding of the first result and compiles again.
for _ in range(2):
    weights = jax.block_until_ready(step(weights, batch))

options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0  # Python calls would make the file large
with tempfile.TemporaryDirectory() as folder:
    with jax.profiler.trace(folder, profiler_options=options):
        for number in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                weights = jax.block_until_ready(step(weights, batch))
    (recorded,) = glob.glob(folder + "/plugins/profile/*/*.xplane.pb")
    with open(recorded, "rb") as source, open(sys.argv[1], "wb") as target:
        target.write(gzip.compress(source.read(), mtime=0))
