# SPDX-License-Identifier: Apache-2.0
"""Runs plans with torch.distributed.pipelining, which supports plans with one device per stage."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ...errors import Infeasible, Unavailable, UsageError
from .cutting import StageModule
from .part import Part
from .plan import Plan

OLDEST = (2, 6)  # in older versions of torch, B in a schedule has another meaning
# Older versions of torch open a connection between neighbouring stages even if both are on one
# rank, which fails with gloo.
SKIPS_OWN_RANK = (2, 13)


class Recomputed(nn.Module):  # type: ignore[misc]
    """A stage that keeps only its inputs from forward to backward, and recomputes the rest."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *values: Any) -> Any:
        return checkpoint(self.inner, *values, use_reentrant=False)


def version() -> tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def rows_of(plan: Plan) -> list[str]:
    """The schedule in torch's CSV format, one row per rank.

    torch appends each loss to a list when the last stage computes it. Later it looks up the loss of
    a micro-batch by the number of the micro-batch. So this function renumbers micro-batches in the
    order in which the last stage runs them.
    """
    last = len(plan.stages) - 1
    order = [
        op.microbatch for op in plan.orders[plan.stages[last].devices] if op[:2] == (last, "F")
    ]
    number = {microbatch: place for place, microbatch in enumerate(order)}
    return [
        ",".join(f"{op.stage}{op.kind}{number[op.microbatch]}" for op in plan.order_of(rank))
        for rank in range(plan.devices)
    ]


class TorchPipeline(Part):
    """This rank's stages of a model, run by torch. `schedule` is torch's own schedule object; its
    step() may be called instead of that of this class."""

    def __init__(
        self, plan: Plan, modules: Sequence[StageModule], loss: Any, *, reduction: str,
        device: torch.device, exported: str | None,
    ) -> None:  # fmt: skip
        check(plan)
        super().__init__(plan, modules, device)
        from torch.distributed.pipelining import PipelineStage
        from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

        stages = []
        for number, module in self.stages.items():
            inner = Recomputed(module) if plan.stages[number].recompute else module
            stage = PipelineStage(inner, number, len(plan.stages), device)
            if version() < SKIPS_OWN_RANK:
                stage._get_init_p2p_neighbors_ops = list
            stages.append(stage)
        self._mean = reduction == "mean"
        self.schedule: Any = _PipelineScheduleRuntime(
            stages, plan.microbatches, loss_fn=loss, scale_grads=self._mean
        )
        if exported is None:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "schedule.csv"
                file.write_text("\n".join(rows_of(plan)) + "\n")
                self.schedule._load_csv(str(file))
        else:
            self._load(Path(exported))

    def _load(self, file: Path) -> None:
        """Load a schedule that `weft pipeline export` wrote, with or without communication ops."""
        try:
            text = file.read_text()
            kind = "compute_comms" if "SEND_" in text else "compute_only"
            self.schedule._load_csv(str(file), format=kind)
        except (OSError, ValueError, AssertionError, RuntimeError) as error:
            raise UsageError(
                f"{file}: torch {torch.__version__} cannot load this as a schedule of the plan "
                f"({error}); write one with weft pipeline export --to torch-csv"
            ) from error

    def step(self, *inputs: Tensor, target: Any = None) -> Tensor | None:
        """Like weft.torch.Pipeline.step()."""
        last = len(self.plan.stages) - 1
        losses: list[Tensor] = []
        given = {"target": target, "losses": losses} if last in self.stages else {}
        self.schedule.step(*(inputs if 0 in self.stages else ()), **given)
        if not losses:
            return None
        total = torch.stack([loss.detach() for loss in losses])
        return total.mean() if self._mean else total.sum()


def check(plan: Plan) -> None:
    """Check that torch.distributed.pipelining can run the plan."""
    if version() < OLDEST:
        raise Unavailable(
            f"torch {torch.__version__} reads schedules differently: install torch 2.6 or later, "
            'or leave out runtime="torch"'
        )
    for number, stage in enumerate(plan.stages):
        if len(stage.devices) > 1:
            raise Infeasible(
                f"stage {number} has {len(stage.devices)} devices, but "
                "torch.distributed.pipelining supports only one per stage: leave out "
                'runtime="torch", or plan with --replicas 1'
            )
    idle = set(range(plan.devices)) - {stage.devices[0] for stage in plan.stages}
    if idle:
        raise Infeasible(
            f"device {min(idle)} has no stage, but torch.distributed.pipelining needs one on every "
            'rank: leave out runtime="torch"'
        )
