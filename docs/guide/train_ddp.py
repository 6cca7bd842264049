#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small data-parallel training job that records itself. It runs on any machine with PyTorch.

    torchrun --nproc-per-node 2 train_ddp.py traces/

This command writes traces/rank0.json.gz and traces/rank1.json.gz. The job uses GPUs if there is a
GPU for each rank, and CPUs otherwise. With --uneven the last rank also gets a part of the data of
rank 0, so that Weft has something to find.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

parser = argparse.ArgumentParser()
parser.add_argument("traces", type=Path, help="folder for the recording")
parser.add_argument("--uneven", action="store_true")
options = parser.parse_args()

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
on_gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
if on_gpu:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if on_gpu else "gloo")
torch.set_num_threads(1)

layers = [layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rows = 384
if options.uneven:
    rows += 128 * ((rank == world - 1) - (rank == 0))
batch = torch.randn(rows, 512, device=device)


def train_step() -> None:
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()


def save(prof: profile) -> None:
    options.traces.mkdir(parents=True, exist_ok=True)
    prof.export_chrome_trace(str(options.traces / f"rank{rank}.json.gz"))


with profile(
    activities=[ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu,
    schedule=schedule(wait=5, warmup=2, active=3),
    record_shapes=True,
    on_trace_ready=save,
) as prof:
    for _ in range(10):
        train_step()
        prof.step()

dist.destroy_process_group()
