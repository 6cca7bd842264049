# SPDX-License-Identifier: Apache-2.0
"""Adds up a stage's gradients over its replicas while the device goes on with other work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..messages import Deadline


class GradientSum:
    """The sum of one stage's gradients in one step.

    It is made before the step begins. It sets gradients of earlier steps aside, so that they are
    not added up over the replicas a second time, and adds them back in finish().
    """

    def __init__(self, parameters: Sequence[nn.Parameter], group: Any, peer: int) -> None:
        self._parameters = [p for p in parameters if p.requires_grad]
        self._group, self._peer = group, peer
        self._before = [p.grad for p in self._parameters]
        self._sums: list[tuple[Any, Tensor, list[int]]] = []
        for parameter in self._parameters:
            parameter.grad = None

    def start(self) -> None:
        """Start the all-reduce. Call it after the last backward of the stage."""
        by_type: dict[tuple[torch.dtype, torch.device], list[int]] = {}
        for number, p in enumerate(self._parameters):
            by_type.setdefault((p.dtype, p.device), []).append(number)
        for numbers in by_type.values():
            found = [self._parameters[n] for n in numbers]
            flat = torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in found]
            )
            work = dist.all_reduce(flat, group=self._group, async_op=True)
            self._sums.append((work, flat, numbers))

    def finish(self, deadline: Deadline) -> None:
        """Wait for the all-reduce, and set the .grad of the parameters."""
        for work, flat, numbers in self._sums:
            deadline.wait(work, self._peer)
            sizes = [self._parameters[n].numel() for n in numbers]
            for number, gradient in zip(numbers, flat.split(sizes)):
                parameter, before = self._parameters[number], self._before[number]
                gradient = gradient.view_as(parameter)
                parameter.grad = gradient if before is None else before.add_(gradient)
