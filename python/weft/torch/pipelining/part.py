# SPDX-License-Identifier: Apache-2.0
"""The part of a model that one rank holds: its stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .cutting import StageModule
from .plan import Plan


class Part:
    """The stages of this rank. Device d of the plan is rank d of the default process group."""

    def __init__(self, plan: Plan, modules: Sequence[StageModule], device: torch.device) -> None:
        self.plan = plan
        self.rank = dist.get_rank()
        self.stages: dict[int, StageModule] = {
            number: module.to(device)
            for number, (stage, module) in enumerate(zip(plan.stages, modules))
            if self.rank in stage.devices
        }

    def parameters(self) -> Iterator[nn.Parameter]:
        for module in self.stages.values():
            yield from module.parameters()

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The parameters of this rank's stages, with the names that they have in the model."""
        for module in self.stages.values():
            yield from module.graph_module.named_parameters()

    def state_dict(self) -> dict[str, Any]:
        """The state of this rank's stages, with the names that they have in the model. The states
        of all ranks together are the state of the model."""
        state: dict[str, Any] = {}
        for module in self.stages.values():
            state |= module.graph_module.state_dict()
        return state
