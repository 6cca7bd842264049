# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, parameter servers: workers pull parameters and push gradients, a chief coordinates.

TF_CONFIG says which task this is: chief, worker or ps. A step is one function on each worker, and the
chief waits for all of them, so that steps can be told apart. It prints {"step_ms": [...]}; workers and
parameter servers run until they are ended.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Servers that wait for a chief may be started before it.
os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")

import tensorflow as tf

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=1024, help="4 MB of parameters a layer")
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--emulate", type=float, default=0.0, metavar="MS",
                    help="do not compute: the chief holds this long before each step")  # fmt: skip
arguments = parser.parse_args()

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(4)
tf.random.set_seed(0)
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()


def serve() -> None:
    # A server takes its threads from here, not from tf.config, and otherwise one for each core: on a
    # host of one core two workers then wait for each other for ever.
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
