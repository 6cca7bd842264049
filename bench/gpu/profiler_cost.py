#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how much host time recording costs, and compares it with the estimate that Weft makes
from the recording itself.

The script runs launch-bound training steps with and without torch.profiler in turn. For each job it
prints the cost per recorded event. It also prints the estimate of this cost that
`weft/cost/profiler_overhead.h` reads from a trace: the lower quartile of the own time of ops that
call exactly one other op. Needs a GPU.

usage: profiler_cost.py [repeats]
"""
import collections
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

WIDTH, HEADS, TOKENS, BATCH, WORDS = 256, 16, 64, 2, 1024
HOST_CATEGORIES = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        h = self.norm1(x)
        q, k, v = (f(h).view(batch, tokens, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).reshape(batch, tokens, -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def transformer():
    model = nn.Sequential(nn.Embedding(WORDS, WIDTH), *[Block() for _ in range(8)], nn.Linear(WIDTH, WORDS)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    ids = torch.randint(0, WORDS, (BATCH, TOKENS), device="cuda")

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()

    return step


def convolutions():
    import torchvision

    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    images = torch.randn(2, 3, 64, 64, device="cuda")
    labels = torch.randint(0, 1000, (2,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def milliseconds(step, steps):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3 / steps


def wrapper_time(events):
    """The lower quartile, in microseconds, of the own time of ops that contain exactly one op."""
    lanes = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in HOST_CATEGORIES:
            lanes[event["tid"]].append(event)
    own = []
    for lane in lanes.values():
        lane.sort(key=lambda e: (e["ts"], -e["dur"]))
        stack = []
        for event in lane:
            while stack and event["ts"] >= stack[-1]["ts"] + stack[-1]["dur"]:
                stack.pop()
            event["inner"] = []
            if stack:
                stack[-1]["inner"].append(event)
            stack.append(event)
        for event in lane:
            inner = event["inner"]
            wraps_one = len(inner) == 1 and inner[0]["cat"] == "cpu_op" and event["cat"] == "cpu_op"
            if wraps_one and not event["name"].startswith("autograd::"):
                own.append(event["dur"] - inner[0]["dur"])
    return statistics.quantiles(own, n=4)[0]


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print("job           plain ms  profiled ms  events  cost/event us  wrapper us    ratio")
    for name, make in (("transformer", transformer), ("convolutions", convolutions)):
        step = make()
        for _ in range(5):
            step()
        plain, profiled, marks, events_per_step = [], [], [], 0
        for _ in range(repeats):
            plain.append(milliseconds(step, 4))
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as recording:
                step()
                profiled.append(milliseconds(step, 3))
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "trace.json")
                recording.export_chrome_trace(path)
                with open(path) as file:
                    events = json.load(file)["traceEvents"]
            host = [e for e in events if e.get("ph") == "X" and e.get("cat") in HOST_CATEGORIES]
            events_per_step = len(host) / 4
            marks.append(wrapper_time(events))
        cost = (statistics.median(profiled) - statistics.median(plain)) * 1e3 / events_per_step
        mark = statistics.median(marks)
        print(f"{name:12} {statistics.median(plain):9.2f} {statistics.median(profiled):12.2f} "
              f"{events_per_step:7.0f} {cost:14.2f} {mark:13.2f} {cost / mark:6.2f}", flush=True)


if __name__ == "__main__":
    main()
