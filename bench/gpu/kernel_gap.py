#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a stream pauses between queued kernels, with and without the profiler.

The script measures device-bound training steps without the profiler, and records some steps with
it. The true pause per kernel is computed as follows: subtract the sum of the recorded kernels from
the time of an unprofiled step, and divide the rest by the number of kernels. To see the effect of
sharing a GPU, start one process per rank at the same time. Needs a GPU.

usage: kernel_gap.py resnet50|vgg16|inception_v3
"""
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
import torchvision
from torch.profiler import ProfilerActivity, profile

PROFILED_STEPS = 5


def main():
    name = sys.argv[1]
    extra = {"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}
    side = 299 if name == "inception_v3" else 224
    model = getattr(torchvision.models, name)(**extra).cuda()
    images = torch.randn(32, 3, side, side, device="cuda")
    labels = torch.randint(0, 1000, (32,), device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    def milliseconds(seconds=3.0):
        torch.cuda.synchronize()
        begin, steps = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(4):
                step()
            steps += 4
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3 / steps

    for _ in range(5):
        step()
    before = milliseconds()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as recording:
        for _ in range(PROFILED_STEPS):
            step()
        torch.cuda.synchronize()
    after = milliseconds()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        recording.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    work = sorted((e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")), key=lambda e: e["ts"])
    busy = sum(e["dur"] for e in work) / PROFILED_STEPS / 1e3
    count = len(work) / PROFILED_STEPS
    pauses = [b["ts"] - a["ts"] - a["dur"] for a, b in zip(work, work[1:])]
    plain = (before + after) / 2
    print(f"{name}: step {plain:.2f} ms unprofiled, kernels {busy:.2f} ms; pause between kernels: "
          f"{statistics.median(pauses):.2f} us profiled (median), {(plain - busy) * 1e3 / count:.2f} us unprofiled")


if __name__ == "__main__":
    main()
