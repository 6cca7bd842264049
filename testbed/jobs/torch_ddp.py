#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training with PyTorch: an MLP, a CNN or a small transformer of 24 to 27 MB.

    weft testbed run 2x1gbit -- python testbed/jobs/torch_ddp.py --model cnn --steps 20

The first rank prints one line of JSON with the time of every step in ms, the warm-up steps
included. If there are more ranks than cores, use --emulate: layers sleep instead of computing, and
still produce gradients of the same sizes at the same times.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

FORWARD_PART = 1 / 3  # the fraction of the compute time of a step that the forward pass takes


def mlp() -> tuple[nn.Sequential, Tensor, Tensor]:
    layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(5)]
    model = nn.Sequential(*layers, nn.Linear(1024, 1000))
    return model, torch.randn(64, 1024), torch.randint(1000, (64,))


def cnn() -> tuple[nn.Sequential, Tensor, Tensor]:
    layers: list[nn.Module] = []
    channels = [3, 64, 128, 256, 512, 512]
    for before, after in zip(channels, channels[1:]):
        layers.append(
            nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        )
    head = nn.Sequential(nn.Flatten(), nn.Linear(2048, 1024), nn.ReLU())
    model = nn.Sequential(*layers, head, nn.Linear(1024, 100))
    return model, torch.randn(4, 3, 64, 64), torch.randint(100, (4,))


def transformer() -> tuple[nn.Sequential, Tensor, Tensor]:
    vocabulary, width = 4096, 256
    blocks = [
        nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        for _ in range(6)
    ]
    model = nn.Sequential(nn.Embedding(vocabulary, width), *blocks, nn.Linear(width, vocabulary))
    text = torch.randint(vocabulary, (2, 65))
    return model, text[:, :-1], text[:, 1:].flatten()


MODELS = {"mlp": mlp, "cnn": cnn, "transformer": transformer}


class HoldFunction(torch.autograd.Function):
    """Sleeps instead of computing. The backward pass gives every parameter a constant gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, seconds: float, *parameters: Tensor) -> Tensor:
        ctx.save_for_backward(*parameters)
        ctx.seconds = seconds * (1 - FORWARD_PART)
        time.sleep(seconds * FORWARD_PART)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        time.sleep(ctx.seconds)
        return gradient, None, *(torch.full_like(p, 1e-3) for p in ctx.saved_tensors)


class Hold(nn.Module):
    """Emulates a layer: has its parameters, and sleeps. Forward and backward take `seconds`."""

    def __init__(self, layer: nn.Module, seconds: float) -> None:
        super().__init__()
        self.layer, self.seconds = layer, seconds

    def forward(self, x: Tensor) -> Tensor:
        held: Tensor = HoldFunction.apply(x, self.seconds, *self.layer.parameters())
        return held


def emulated(model: nn.Sequential, seconds: float) -> nn.Sequential:
    """The model with emulated layers. A layer with more parameters sleeps longer, in proportion."""
    sizes = [sum(p.numel() for p in layer.parameters()) for layer in model]
    return nn.Sequential(
        *(Hold(layer, seconds * size / sum(sizes)) for layer, size in zip(model, sizes))
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="mlp")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bucket-mb", type=float, help="bucket size (default: DDP's own)")
    parser.add_argument(
        "--emulate", metavar="MS",
        help="sleep MS per step instead of computing; 100,200: 100 on even ranks, 200 on odd ranks",
    )  # fmt: skip
    return parser.parse_args()


def main() -> None:
    options = arguments()
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank = dist.get_rank()

    torch.manual_seed(0)
    model, inputs, targets = MODELS[options.model]()
    if options.emulate:
        times = [float(ms) / 1e3 for ms in options.emulate.split(",")]
        model = emulated(model, times[rank % len(times)])
        inputs = torch.ones(1)
    ddp = DistributedDataParallel(model.to(device), bucket_cap_mb=options.bucket_mb)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
    inputs, targets = inputs.to(device), targets.to(device)
    if not options.emulate:  # every rank trains on different data
        inputs, targets = inputs.roll(rank, -1), targets.roll(rank)

    def train_step() -> None:
        optimizer.zero_grad()
        out = ddp(inputs)
        if options.emulate:
            loss = out.sum()
        else:
            loss = functional.cross_entropy(out.flatten(0, -2), targets)
        loss.backward()
        optimizer.step()
        if on_gpu:
            torch.cuda.synchronize()

    step_ms = []
    for _ in range(options.steps):
        begin = time.perf_counter()
        train_step()
        step_ms.append(round((time.perf_counter() - begin) * 1e3, 3))
    if rank == 0:
        megabytes = sum(p.numel() * p.element_size() for p in model.parameters()) / 1e6
        print(json.dumps({"step_ms": step_ms, "gradient_mb": round(megabytes, 1)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
