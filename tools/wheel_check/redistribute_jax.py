# SPDX-License-Identifier: Apache-2.0
"""Redistributes an array between two processes of JAX with one device each. Before, it is split by
rows; afterwards, by columns."""

import os

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import weft.jax

rank = int(os.environ["RANK"])
coordinator = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
jax.distributed.initialize(coordinator, num_processes=2, process_id=rank)
mesh = Mesh(np.array(jax.devices()), ("x",))
whole = np.arange(48.0, dtype=np.float32).reshape(6, 8)
by_rows = jax.make_array_from_callback(
    whole.shape, NamedSharding(mesh, P("x", None)), lambda index: whole[index]
)
by_columns = weft.jax.reshard(by_rows, NamedSharding(mesh, P(None, "x")))
for shard in by_columns.addressable_shards:
    assert np.array_equal(np.asarray(shard.data), whole[shard.index]), shard
if rank == 0:
    print("JAX: every element is where it belongs")
