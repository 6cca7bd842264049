# SPDX-License-Identifier: Apache-2.0
"""Training with TensorFlow and parameter servers: workers pull parameters and push gradients, and a
chief coordinates them.

TF_CONFIG tells each process its task: chief, worker or ps. In a step every worker runs one
function, and the chief waits for all workers, so that steps do not overlap. The chief prints
{"step_ms": [...]}. Workers and parameter servers run until they are terminated.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Servers may start before the chief. Calls must then wait for the chief instead of failing.
os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")

import tensorflow as tf

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=1024, help="default: 4 MB of parameters per layer")
parser.add_argument("--batch", type=int, default=16, help="rows per worker")
parser.add_argument("--emulate", type=float, default=0.0, metavar="MS",
                    help="compute only one row; the chief sleeps MS before each step")  # fmt: skip
arguments = parser.parse_args()

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(4)
tf.random.set_seed(0)
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()


def serve() -> None:
    # A server ignores the numbers of threads that tf.config sets, and starts one thread per core.
    # On hosts with one core, two workers with one thread each would wait for each other for ever.
    threads = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=16
    )
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        config=threads,
        start=True,
    )
    server.join()


def coordinate() -> None:
    workers = len(resolver.cluster_spec().as_dict()["worker"])
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        layers = [
            tf.Variable(tf.random.normal((arguments.width, arguments.width), stddev=0.02, seed=i))
            for i in range(arguments.layers)
        ]
    rows = 1 if arguments.emulate else arguments.batch

    @tf.function
    def worker_step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            x = tf.ones((rows, arguments.width))
            for layer in layers:
                x = tf.nn.relu(x @ layer)
            loss = tf.reduce_mean(tf.square(x))
        for layer, gradient in zip(layers, tape.gradient(loss, layers)):
            layer.assign_sub(0.01 * gradient)
        return loss

    times = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        if arguments.emulate:
            time.sleep(arguments.emulate / 1e3)
        for _ in range(workers):
            coordinator.schedule(worker_step)
        coordinator.join()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"step_ms": times}), flush=True)


if resolver.task_type in ("worker", "ps"):
    serve()
else:
    coordinate()
