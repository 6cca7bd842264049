# SPDX-License-Identifier: Apache-2.0
"""A small training job that does not use Weft. It prints its loss, so that tests can compare it."""

from __future__ import annotations

import argparse
import os
import signal
import time

import torch
from torch import distributed, nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--optimizers", type=int, default=1)
parser.add_argument("--raise-at", type=int, default=-1)
parser.add_argument("--kill-at", type=int, default=-1, help="kill -9 of the last rank")
parser.add_argument("--leave-at", type=int, default=-1, help="os._exit(0) of all ranks")
parser.add_argument("--single", action="store_true", help="without torch.distributed")
arguments = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(1)
layers = [nn.Linear(64, 64) for _ in range(4)]
model: nn.Module = nn.Sequential(*layers)
rank, world = 0, 1
if not arguments.single:
    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    model = nn.parallel.DistributedDataParallel(model)
parts = [layers[i :: arguments.optimizers] for i in range(arguments.optimizers)]
optimizers = [
    torch.optim.SGD([p for layer in part for p in layer.parameters()], lr=0.01) for part in parts
]
loss = torch.zeros(())
for step in range(arguments.steps):
    if step == arguments.raise_at:
        raise RuntimeError("the script has a bug")
    if step == arguments.leave_at:
        os._exit(0)
    if step == arguments.kill_at:
        if rank == world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.2)
    for _ in range(arguments.accumulate):
        loss = model(torch.ones(8, 64)).square().mean()
        loss.backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
if rank == 0:
    print(f"loss {loss.item():.9f}")
if not arguments.single:
    distributed.destroy_process_group()
