# SPDX-License-Identifier: Apache-2.0
"""Plans in torch.distributed.pipelining, where it can express them: one device a stage."""

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

OLDEST = (2, 6)  # before, B had two meanings
GREETS_ITSELF = (2, 13)  # before, gloo failed where two neighbouring stages share a rank


class Recomputed(nn.Module):  # type: ignore[misc]
    """Keeps its inputs alone from forward to backward."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *values: Any) -> Any:
        return checkpoint(self.inner, *values, use_reentrant=False)


def version() -> tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def rows_of(plan: Plan) -> list[str]:
    """The orders, one row a rank. torch looks losses up by micro-batch in the list of those that the last
    stage has run, so micro-batches are numbered in that stage's order."""
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
    """`schedule` is torch's own object: its step() can be called as well."""

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
            if version() < GREETS_ITSELF:
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
        """What `weft pipeline export` wrote, of either kind."""
        try:
            text = file.read_text()
            kind = "compute_comms" if "SEND_" in text else "compute_only"
            self.schedule._load_csv(str(file), format=kind)
        except (OSError, ValueError, AssertionError, RuntimeError) as error:
            raise UsageError(
                f"{file}: is no schedule of this plan that torch {torch.__version__} takes ({error}); weft "
                "pipeline export --to torch-csv writes one"
            ) from error

    def step(self, *inputs: Tensor, target: Any = None) -> Tensor | None:
        """As that of weft.torch.Pipeline."""
        last = len(self.plan.stages) - 1
        losses: list[Tensor] = []
        given = {"target": target, "losses": losses} if last in self.stages else {}
        self.schedule.step(*(inputs if 0 in self.stages else ()), **given)
        if not losses:
            return None
        total = torch.stack([loss.detach() for loss in losses])
        return total.mean() if self._mean else total.sum()


def check(plan: Plan) -> None:
    if version() < OLDEST:
        raise Unavailable(
            f"torch {torch.__version__} reads schedules in another way: install 2.6 or later, or leave out "
            'runtime="torch"'
        )
    for number, stage in enumerate(plan.stages):
        if len(stage.devices) > 1:
            raise Infeasible(
                f"stage {number} has {len(stage.devices)} devices, which torch.distributed.pipelining cannot "
                'express: leave out runtime="torch", or plan with --replicas 1'
            )
    idle = set(range(plan.devices)) - {stage.devices[0] for stage in plan.stages}
    if idle:
        raise Infeasible(
            f"device {min(idle)} has no stage, and torch.distributed.pipelining wants one on every rank: leave out "
            'runtime="torch"'
        )
