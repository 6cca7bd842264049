# SPDX-License-Identifier: Apache-2.0
"""Records tensorflow-cpu.xplane.pb.gz: three steps of a small training loop on one CPU. Needs
`tensorflow` or `tensorflow-cpu` from PyPI. Usage:

    python tools/samples/make_tensorflow_xplane.py tests/data/xplane/tensorflow-cpu.xplane.pb.gz
"""

import glob
import gzip
import sys
import tempfile

import tensorflow as tf

STEPS = 3
first = tf.Variable(tf.ones((64, 128)))
second = tf.Variable(tf.ones((128, 32)))
batch = tf.ones((16, 64))


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(batch @ first) @ second))
    for variable, gradient in zip((first, second), tape.gradient(loss, (first, second))):
        variable.assign_sub(0.01 * gradient)
    return loss


train_step()  # warm-up, so that the profile shows no tracing of the function
options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
with tempfile.TemporaryDirectory() as folder:
    tf.profiler.experimental.start(folder, options=options)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step()
    tf.profiler.experimental.stop()
    (recorded,) = glob.glob(folder + "/plugins/profile/*/*.xplane.pb")
    with open(recorded, "rb") as source, open(sys.argv[1], "wb") as target:
        target.write(gzip.compress(source.read(), mtime=0))
