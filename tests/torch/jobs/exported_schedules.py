# SPDX-License-Identifier: Apache-2.0
"""Loads schedules that `weft pipeline export` wrote, and trains one step with each.

Usage: exported_schedules.py FOLDER, with files NAME.compute_only.csv and NAME.compute_comms.csv.
Rank 0 prints a line of JSON for each file: its name, and how much the gradients differ from those
of the whole model, or the error.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

WIDTH, MICRO = 8, 2
Problem = tuple[list[torch.nn.Module], torch.Tensor, torch.Tensor]


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.mse_loss(output, target)


def problem(stages: int, micros: int) -> Problem:
    """The modules of the stages, a batch and its target; the same on every rank."""
    torch.manual_seed(stages)
    parts: list[torch.nn.Module] = [
        torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH)
        )
        for _ in range(stages)
    ]
    batch = torch.randn(micros * MICRO, WIDTH)
    return parts, batch, torch.randn(micros * MICRO, WIDTH)


def gradients_of_the_whole(stages: int, micros: int) -> list[list[torch.Tensor]]:
    parts, batch, target = problem(stages, micros)
    model = torch.nn.Sequential(*parts)
    for x, y in zip(batch.chunk(micros), target.chunk(micros), strict=True):
        (loss_of(model(x), y) / micros).backward()
    return [[p.grad for p in part.parameters() if p.grad is not None] for part in parts]


def error_of(file: Path) -> float:
    """Returns the largest relative error of any gradient on any rank, after a step with this
    schedule."""
    rows = [
        [cell.groups() for cell in re.finditer(r"(\d+)F(\d+)", line)]
        for line in file.read_text().splitlines()
    ]
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = sorted({int(stage) for stage, _ in rows[rank]})
    stages = 1 + max(int(stage) for row in rows for stage, _ in row)
    micros = 1 + max(int(micro) for row in rows for _, micro in row)
    parts, batch, target = problem(stages, micros)
    assert len(rows) == world
    local = [PipelineStage(parts[s], s, stages, torch.device("cpu")) for s in mine]
    runtime = _PipelineScheduleRuntime(list(local), micros, loss_fn=loss_of)
    runtime._load_csv(str(file), format=file.name.split(".")[-2])
    runtime.step(
        *([batch] if 0 in mine else []), **({"target": target} if stages - 1 in mine else {})
    )
    whole = gradients_of_the_whole(stages, micros)
    error = 0.0
    for s in mine:
        for p, expected in zip(parts[s].parameters(), whole[s], strict=True):
            assert p.grad is not None
            error = max(error, float((p.grad - expected).abs().max() / expected.abs().max()))
    all_errors = torch.zeros(world)
    all_errors[rank] = error
    dist.all_reduce(all_errors)
    return float(all_errors.max())


def main() -> None:
    dist.init_process_group("gloo")
    for file in sorted(Path(sys.argv[1]).glob("*.csv")):
        try:
            outcome = {"file": file.name, "error": error_of(file)}
        except Exception:  # the test prints it
            print(json.dumps({"file": file.name, "failure": traceback.format_exc()}), flush=True)
            os._exit(1)
        if dist.get_rank() == 0:
            print(json.dumps(outcome), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
