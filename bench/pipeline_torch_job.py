# SPDX-License-Identifier: Apache-2.0
"""The program that each rank of bench/pipeline_torch.py runs: models whose layers sleep.

Four ranks share two cores, so a layer sleeps for as long as it would compute. It returns an output of
the real size and has parameters and gradients of the real sizes. Everything else is real: autograd,
messages, gradients. A replica with half of the samples sleeps for half of the time.

    pipeline_torch_job.py record MODEL                 trains MODEL on one device, for `weft record`
    pipeline_torch_job.py MODEL REPEATS NAME=PLAN...   times plans and torch's schedules on all ranks
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

SAMPLES = 12  # per micro-batch; divisible by 2, 3 and 4 replicas
MICROBATCHES = 8
WARM_UP = 2

# Per layer: forward in ms, backward in ms, output in KiB, parameters in KiB.
MODELS: dict[str, list[tuple[float, float, int, int]]] = {
    # Equal blocks between a light embedding and a heavy head.
    "transformer": [(2, 3, 768, 3072), *[(9, 18, 768, 1024)] * 10, (24, 48, 12, 3072)],
    # Early layers have large outputs; late layers have most of the parameters.
    "convolutions": [
        (12, 24, 2400, 12), (18, 36, 2400, 48), (10, 20, 1200, 96), (14, 28, 1200, 192), (8, 16, 600, 384),
        (12, 24, 600, 768), (8, 16, 300, 768), (8, 16, 300, 1536), (5, 10, 96, 1536), (4, 8, 12, 4096),
        (2, 4, 12, 2048),
    ],
}  # fmt: skip


@functools.cache
def ones(rows: int, columns: int) -> Tensor:
    return torch.ones(rows, columns)


class Sleep(torch.autograd.Function):  # type: ignore[misc]
    """Sleeps for the time of a layer, returns an output of the right size and gives every parameter a
    gradient. All outputs share one buffer, because filling a new buffer would take compute time."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, layer: Layer) -> Tensor:
        ctx.shape, ctx.size, ctx.layer = x.shape, weight.shape, layer
        time.sleep(layer.forward_s * x.shape[0] / SAMPLES)
        return ones(x.shape[0], layer.width).detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        time.sleep(ctx.layer.backward_s * ctx.shape[0] / SAMPLES)
        return ones(*ctx.shape).detach(), gradient.new_ones(1).expand(ctx.size), None


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, forward_ms: float, backward_ms: float, out_kib: int, kib: int) -> None:
        super().__init__()
        self.forward_s, self.backward_s = forward_ms / 1e3, backward_ms / 1e3
        self.width = out_kib * 1024 // 4 // SAMPLES
        self.weight = nn.Parameter(torch.zeros(kib * 1024 // 4))

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = Sleep.apply(x, self.weight, self)
        return output


def model_of(name: str) -> nn.Sequential:
    return nn.Sequential(*(Layer(*sizes) for sizes in MODELS[name]))


def loss_of(outputs: Tensor, _target: Tensor) -> Tensor:
    loss: Tensor = outputs.mean()
    return loss


def record(name: str) -> None:
    model = model_of(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(16):
        optimizer.zero_grad()
        loss_of(model(torch.ones(SAMPLES, 1, requires_grad=True)), torch.ones(1)).backward()
        optimizer.step()


def even_cuts(layers: list[nn.Module], stages: int) -> list[nn.Sequential]:
    """Cuts the layers into stages with equally many layers."""
    ends = [len(layers) * (stage + 1) // stages for stage in range(stages)]
    return [nn.Sequential(*layers[begin:end]) for begin, end in zip([0, *ends], ends)]


def torch_schedule(name: str, model: str, rounds: int) -> Any:
    """Makes a schedule object of torch with even cuts. Rank r has the stages r, r + world, ..."""
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import get_schedule_class

    rank, world = dist.get_rank(), dist.get_world_size()
    parts = even_cuts(list(model_of(model)), world * rounds)
    stages = [
        PipelineStage(parts[number], number, len(parts), torch.device("cpu"))
        for number in range(rank, len(parts), world)
    ]
    made = get_schedule_class(name)(
        stages if rounds > 1 else stages[0], MICROBATCHES, loss_fn=loss_of
    )
    return made, [p for stage in stages for p in stage.submod.parameters()]


def variants(
    model: str, plans: dict[str, str]
) -> dict[str, tuple[Callable[[], object], list[nn.Parameter]]]:
    """Returns for each variant a function that runs one step, and the parameters that get
    gradients."""
    import weft.torch

    rank, world = dist.get_rank(), dist.get_world_size()
    inputs, target = torch.ones(SAMPLES * MICROBATCHES, 1), torch.ones(SAMPLES * MICROBATCHES, 1)
    found: dict[str, tuple[Callable[[], object], list[nn.Parameter]]] = {}
    for name, plan in plans.items():
        pipe = weft.torch.pipeline(model_of(model), plan, loss=loss_of)

        def step(pipe: Any = pipe) -> object:
            return pipe.step(inputs, target=target)

        found[name] = (step, list(pipe.parameters()))
    for name, kind, rounds in (
        ("gpipe", "GPipe", 1), ("1f1b", "1F1B", 1), ("interleaved", "Interleaved1F1B", 2),
    ):  # fmt: skip
        made, parameters = torch_schedule(kind, model, rounds)

        def torch_step(made: Any = made) -> object:
            arguments = [inputs] if rank == 0 else []
            return made.step(*arguments, **({"target": target} if rank == world - 1 else {}))

        found[name] = (torch_step, parameters)
    return found


def compare(model: str, repeats: int, plans: dict[str, str]) -> None:
    dist.init_process_group("gloo")
    found = variants(model, plans)
    times: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(WARM_UP + repeats):
        for name, (step, parameters) in found.items():
            for parameter in parameters:
                parameter.grad = None
            dist.barrier()
            begin = time.perf_counter()
            step()
            took = torch.tensor(time.perf_counter() - begin)
            dist.all_reduce(took, dist.ReduceOp.MAX)
            if turn >= WARM_UP:
                times[name].append(float(took) * 1e3)
    if dist.get_rank() == 0:
        print(json.dumps({"torch": torch.__version__, "ms": times}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def keep_time() -> None:
    """Gives the rank real-time priority, so that a sleep ends on time although other programs run.
    Devices of a real cluster would not wait for those programs either. Ranks sleep most of the time,
    so they hardly slow other programs down."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print("not root: other programs may delay the ranks", file=sys.stderr)


if __name__ == "__main__":
    keep_time()
    torch.set_num_threads(1)
    if sys.argv[1] == "record":
        record(sys.argv[2])
    else:
        named = (word.split("=", 1) for word in sys.argv[3:])
        compare(sys.argv[1], int(sys.argv[2]), {name: plan for name, plan in named})
