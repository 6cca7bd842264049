# SPDX-License-Identifier: Apache-2.0
"""Runs one stage on one device: forwards and backwards of its micro-batches, and recomputation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .backward import Gradients, SplitBackward, whole
from .cutting import StageModule

Loss = Callable[[Any], Tensor]
"""The loss of the outputs of a micro-batch, multiplied by the micro-batch's share of the batch."""


@dataclass
class _Kept:
    """What a stage keeps of a micro-batch from its forward to its backward."""

    inputs: list[Any]
    outputs: list[Any] = field(default_factory=list)  # empty if the forward is recomputed
    differentiable: list[bool] = field(default_factory=list)  # which outputs get gradients
    loss: Loss | None = None
    random: list[Tensor] = field(default_factory=list)  # state of random generators, to recompute
    split: SplitBackward | None = None  # set between the halves of a split backward


class Stage:
    """One stage. For every micro-batch: forward(), then backward(), or backward_inputs() and
    backward_weights()."""

    def __init__(self, module: StageModule, recompute: bool, device: torch.device) -> None:
        self.module = module
        self._recompute, self._device = recompute, device
        self._parameters = list(module.parameters())
        self._trained = any(p.requires_grad for p in self._parameters)
        self._kept: dict[int, _Kept] = {}

    def forward(self, microbatch: int, inputs: Sequence[Any], loss: Loss | None) -> list[Any]:
        """Run the forward. Returns the values that cross the next cut, or, in the last stage, the
        loss. The outputs are detached, so that each stage has an autograd graph of its own."""
        kept = self._kept[microbatch] = _Kept(list(inputs), loss=loss)
        if self._recompute:
            kept.random = self._random_state()
            with torch.no_grad():
                outputs = self._run(kept)
            # There is no graph that tells which outputs need gradients. If any parameter or input
            # needs one, assume that every floating-point output depends on it.
            wanted = self._trained or any(_wants(value) for value in inputs)
            kept.differentiable = [wanted and _is_real(value) for value in outputs]
        else:
            outputs = kept.outputs = self._run(kept)
            kept.differentiable = [_wants(value) for value in outputs]
        return [
            value.detach().requires_grad_(wanted) if isinstance(value, Tensor) else value
            for value, wanted in zip(outputs, kept.differentiable)
        ]

    def backward(self, microbatch: int, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Run the whole backward. Takes the gradients of all outputs that require one, and returns
        those of all inputs that require one."""
        kept = self._kept.pop(microbatch)
        outputs, given, inputs = self._ends(kept, gradients)
        return _complete(inputs, whole(outputs, given, inputs))

    def backward_inputs(self, microbatch: int, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Run the first half of the backward. Arguments and result as of backward()."""
        kept = self._kept[microbatch]
        outputs, given, inputs = self._ends(kept, gradients)
        kept.split = SplitBackward(outputs, given, inputs, self._parameters)
        return _complete(inputs, kept.split.input_gradients)

    def backward_weights(self, microbatch: int) -> None:
        """Run the second half of the backward."""
        split = self._kept.pop(microbatch).split
        assert split is not None  # read_plan() has checked that I comes before W
        split.weights()

    def _run(self, kept: _Kept) -> list[Any]:
        result = self.module(*kept.inputs)
        if kept.loss is not None:
            return [kept.loss(result)]
        return list(result)

    def _ends(
        self, kept: _Kept, gradients: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Where the backward starts and ends: outputs that require gradients, their gradients, and
        inputs that require gradients. Recomputes the outputs first if the plan says so."""
        if self._recompute:
            with torch.random.fork_rng(self._cuda()), torch.enable_grad():
                self._set_random_state(kept.random)
                kept.outputs = self._run(kept)
        outputs = [value for value, wanted in zip(kept.outputs, kept.differentiable) if wanted]
        if kept.loss is not None:
            gradients = [torch.ones_like(value) for value in outputs]
        pairs = [(value, g) for value, g in zip(outputs, gradients) if value.requires_grad]
        kept.outputs = []
        inputs = [value for value in kept.inputs if _wants(value)]
        return [value for value, _ in pairs], [g for _, g in pairs], inputs

    def _cuda(self) -> list[torch.device]:
        return [self._device] if self._device.type == "cuda" else []

    def _random_state(self) -> list[Tensor]:
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in self._cuda())]

    def _set_random_state(self, state: list[Tensor]) -> None:
        torch.set_rng_state(state[0])
        for device, of_device in zip(self._cuda(), state[1:]):
            torch.cuda.set_rng_state(of_device, device)


def _wants(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_real(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _complete(inputs: Sequence[Tensor], gradients: Gradients) -> list[Tensor]:
    """Replace missing gradients by zeros. An input that no output depends on has no gradient, but
    the stage before waits for one."""
    return [torch.zeros_like(v) if g is None else g for v, g in zip(inputs, gradients)]
