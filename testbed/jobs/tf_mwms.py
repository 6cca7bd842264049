# SPDX-License-Identifier: Apache-2.0
"""Training with TensorFlow's MultiWorkerMirroredStrategy: workers all-reduce gradients in a ring.

TF_CONFIG tells each process which worker it is. The first worker prints {"step_ms": [...]}.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Hosts of the testbed have no GPU. If the machine has one, TensorFlow must not use it.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=1024, help="default: 4 MB of gradients per layer")
parser.add_argument("--batch", type=int, default=16, help="rows per worker")
parser.add_argument("--bytes-per-pack", type=int, default=0,
                    help="bytes of each collective; 0: one collective per step")  # fmt: skip
parser.add_argument("--emulate", type=float, default=0.0, metavar="MS",
                    help="sleep MS before the all-reduces, and compute only one row")  # fmt: skip
arguments = parser.parse_args()

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(4)
tf.random.set_seed(0)

strategy = tf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=arguments.bytes_per_pack,
        implementation=tf.distribute.experimental.CommunicationImplementation.RING,
    )
)
with strategy.scope():
    layers = [
        tf.Variable(tf.random.normal((arguments.width, arguments.width), stddev=0.02, seed=i))
        for i in range(arguments.layers)
    ]
batch = tf.ones((1 if arguments.emulate else arguments.batch, arguments.width))


def hold() -> None:
    time.sleep(arguments.emulate / 1e3)


def replica_step() -> tf.Tensor:
    with tf.GradientTape() as tape:
        x = batch
        for layer in layers:
            x = tf.nn.relu(x @ layer)
        loss = tf.reduce_mean(tf.square(x))
    gradients = tape.gradient(loss, layers)
    # Gradients depend on the sleep, so that no all-reduce starts before it ends.
    if arguments.emulate:
        held = tf.numpy_function(hold, [], [])
        with tf.control_dependencies([held] if held is not None else []):
            gradients = [tf.identity(gradient) for gradient in gradients]
    gradients = tf.distribute.get_replica_context().all_reduce(
        tf.distribute.ReduceOp.MEAN, gradients
    )
    for layer, gradient in zip(layers, gradients):
        layer.assign_sub(0.01 * gradient)
    return loss


@tf.function
def train_step() -> tf.Tensor:
    return strategy.run(replica_step)


times = []
for _ in range(arguments.steps):
    start = time.perf_counter()
    loss = train_step()
    strategy.experimental_local_results(loss)[0].numpy()
    times.append((time.perf_counter() - start) * 1e3)
if json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0) == 0:
    print(json.dumps({"step_ms": times}), flush=True)
