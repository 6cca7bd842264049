# SPDX-License-Identifier: Apache-2.0
"""A small data-parallel job of PyTorch on the CPU, as a user would write it. It does not use Weft."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
layers = [nn.Linear(256, 256) for _ in range(4)]
model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(30):
    optimizer.zero_grad()
    model(torch.randn(32, 256)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
