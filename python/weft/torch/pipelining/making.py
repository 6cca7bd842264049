# SPDX-License-Identifier: Apache-2.0
"""weft.torch.pipeline(): makes a pipeline from a model and a plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, overload

import torch
import torch.distributed as dist
from torch import nn

from ...errors import Unavailable, UsageError
from .cutting import cut
from .plan import Plan, read_plan
from .runtime import LossFunction, Pipeline
from .torch_runtime import TorchPipeline


@overload
def pipeline(
    model: nn.Module,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    loss: LossFunction,
    reduction: str = "mean",
    device: torch.device | str | None = None,
    timeout: float | None = None,
    runtime: Literal["weft"] = "weft",
) -> Pipeline: ...
@overload
def pipeline(
    model: nn.Module,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    loss: LossFunction,
    reduction: str = "mean",
    device: torch.device | str | None = None,
    runtime: Literal["torch"],
    exported: str | os.PathLike[str] | None = None,
) -> TorchPipeline: ...
def pipeline(
    model: nn.Module,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    loss: LossFunction,
    reduction: str = "mean",
    device: torch.device | str | None = None,
    timeout: float | None = None,
    runtime: str = "weft",
    exported: str | os.PathLike[str] | None = None,
) -> Pipeline | TorchPipeline:
    """Cut a model into the stages of a plan of `weft pipeline`, and return a pipeline with the
    stages of this rank.

    All ranks must call this, with the same model and plan. Device d of the plan is rank d. The
    layers of the plan are modules of the model, by name.

    loss: loss(outputs, target) returns the mean over the samples that it gets, or, with
    reduction="sum", their sum.
    device: where this rank computes; default: the device of the model's parameters.
    timeout: seconds after which ranks that do not answer are given up with weft.PeerFailed.
    Default: the timeout of the process group.
    runtime: "torch" runs the plan with torch.distributed.pipelining, which requires that each stage
    has one device.
    exported: a file of `weft pipeline export`, to run with runtime="torch" instead of the plan's
    own order.
    """
    if not dist.is_initialized():
        raise Unavailable(
            "there is no process group: call torch.distributed.init_process_group() first"
        )
    if reduction not in ("mean", "sum"):
        raise UsageError(f"reduction must be 'mean' or 'sum', not {reduction!r}")
    planned = read_plan(plan)
    world = dist.get_world_size()
    if world != planned.devices:
        raise UsageError(
            f"{planned.name} is for {planned.devices} devices, but the job has {world} ranks: "
            "start one rank per device, or plan for this cluster"
        )
    if runtime not in ("weft", "torch"):
        raise UsageError(f"runtime must be 'weft' or 'torch', not {runtime!r}")
    stages = cut(model, planned)
    place = torch.device(device) if device is not None else _device_of(model)
    if runtime == "torch":
        file = None if exported is None else os.fspath(exported)
        return TorchPipeline(
            planned, stages, loss, reduction=reduction, device=place, exported=file
        )
    return Pipeline(planned, stages, loss, reduction=reduction, device=place, timeout=timeout)


def _device_of(model: nn.Module) -> torch.device:
    return next((p.device for p in model.parameters()), torch.device("cpu"))
