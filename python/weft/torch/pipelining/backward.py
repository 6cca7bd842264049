# SPDX-License-Identifier: Apache-2.0
"""The backward pass of a stage, as one op or in two halves.

Other devices wait for the gradients of the stage's inputs, but not for those of its weights. So the
backward pass can be split. The first half runs the autograd graph from the outputs to the inputs.
At some nodes on this way, called exits, a branch leaves that leads only to parameters. The first
half stores the gradients that arrive at the exits. The second half starts from the exits and
computes the gradients of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge

Gradients = list[Tensor | None]


def whole(
    outputs: Sequence[Tensor], gradients: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Gradients:
    """Compute all gradients at once: add those of the parameters to
    their .grad and return those of the inputs."""
    if outputs:
        torch.autograd.backward(list(outputs), list(gradients))
    return [value.grad for value in inputs]


@dataclass
class _Exit:
    """A node on the path to the inputs. At this node, a branch leaves that leads to `parameters`
    and to no inputs."""

    node: Any
    parameters: list[Tensor]
    arrived: list[Tensor | None]  # the gradients that the first half brought to the node


class SplitBackward:
    """Computes the gradients of the inputs when it is made, and those of the parameters when
    weights() is called."""

    def __init__(
        self, outputs: Sequence[Tensor], gradients: Sequence[Tensor], inputs: Sequence[Tensor],
        parameters: Iterable[Tensor],
    ) -> None:  # fmt: skip
        self._outputs, self._gradients = list(outputs), list(gradients)
        self._exits: list[_Exit] = []
        self._from_outputs: list[Tensor] = [p for p in parameters if p.requires_grad]
        self.input_gradients: Gradients = [None] * len(inputs)
        if not outputs or not inputs:
            return
        self._find_exits(inputs)
        hooks = [exit_.node.register_prehook(_remember(exit_)) for exit_ in self._exits]
        try:
            found = torch.autograd.grad(
                self._outputs, list(inputs), self._gradients, retain_graph=True, allow_unused=True
            )
        finally:
            for hook in hooks:
                hook.remove()
        self.input_gradients = list(found)

    def _find_exits(self, inputs: Sequence[Tensor]) -> None:
        accumulators = {_end(p): p for p in self._from_outputs}
        on_path = _leading_to({_end(value) for value in inputs}, self._outputs)
        reached: dict[int, list[_Exit]] = {}
        for node in on_path:
            ways = {n for n, _ in node.next_functions if n is not None and n not in on_path}
            leaves = [accumulators[n] for n in _behind(ways, on_path) if n in accumulators]
            if leaves:
                self._exits.append(_Exit(node, leaves, []))
                for leaf in leaves:
                    reached.setdefault(id(leaf), []).append(self._exits[-1])
        # If several exits reach a parameter, its gradient is computed from the outputs instead. If
        # the gradient were computed from each exit, gradients that flow from one exit to another
        # would count twice.
        alone = {key for key, exits in reached.items() if len(exits) == 1}
        for exit_ in self._exits:
            exit_.parameters = [p for p in exit_.parameters if id(p) in alone]
        self._exits = [exit_ for exit_ in self._exits if exit_.parameters]
        self._from_outputs = [p for p in self._from_outputs if id(p) not in alone]

    def weights(self) -> None:
        """Add the gradients of the parameters to their .grad, and release the graph."""
        for exit_ in self._exits:
            arrived = [(i, g) for i, g in enumerate(exit_.arrived) if g is not None]
            if arrived:
                edges = [GradientEdge(exit_.node, i) for i, _ in arrived]
                _add(edges, [g for _, g in arrived], exit_.parameters)
        if self._from_outputs and self._outputs:
            _add(self._outputs, self._gradients, self._from_outputs)
        self._exits, self._outputs, self._gradients = [], [], []


def _add(outputs: list[Any], gradients: list[Tensor], parameters: list[Tensor]) -> None:
    found = torch.autograd.grad(
        outputs, parameters, gradients, retain_graph=True, allow_unused=True
    )
    for parameter, gradient in zip(parameters, found):
        if gradient is None:
            continue
        if parameter.grad is None:
            parameter.grad = gradient.detach()
        else:
            parameter.grad += gradient


def _remember(exit_: _Exit) -> Any:
    def hook(arrived: Sequence[Tensor | None]) -> None:
        exit_.arrived = list(arrived)

    return hook


def _end(value: Tensor) -> Any:
    """The autograd node that accumulates the gradient of a leaf tensor."""
    return get_gradient_edge(value).node


def _behind(starts: Iterable[Any], outside: set[Any]) -> set[Any]:
    """All nodes that gradients reach from `starts` without passing a node of `outside`."""
    seen: set[Any] = set()
    stack = list(starts)
    while stack:
        node = stack.pop()
        if node in seen or node in outside:
            continue
        seen.add(node)
        stack += [n for n, _ in node.next_functions if n is not None]
    return seen


def _leading_to(ends: set[Any], outputs: Sequence[Tensor]) -> set[Any]:
    """All nodes on paths from the outputs to one of the ends, both included."""
    order: list[Any] = []  # in post-order: a node comes after all nodes that it leads to
    seen: set[Any] = set()
    stack = [(get_gradient_edge(value).node, False) for value in outputs]
    while stack:
        node, left = stack.pop()
        if left:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        stack += [(n, False) for n, _ in node.next_functions if n is not None]
    leading: set[Any] = set()
    for node in order:
        if node in ends or any(n in leading for n, _ in node.next_functions):
            leading.add(node)
    return leading
