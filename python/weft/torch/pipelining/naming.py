# SPDX-License-Identifier: Apache-2.0
"""Finds the module of a model that each layer of a plan stands for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from torch import nn

from ...errors import UsageError
from .plan import Plan

# A plan from a recording names layers like "0.Linear_3": the profiler records the class of a module
# and a running number, but not the module's name in the model.
_RECORDED = re.compile(r"\d+\.(\w+)_\d+")


def with_module_names(plan: Plan, model: nn.Module) -> Plan:
    """The plan with the names of the model's modules. Layers that a recording has named are found
    by their classes, in the order of the model."""
    modules = {name for name, _ in model.named_modules() if name}
    layers = [layer for stage in plan.stages for layer in stage.layers]
    missing = next((layer for layer in layers if layer not in modules), None)
    if missing is None:
        return plan
    classes = [match[1] for layer in layers if (match := _RECORDED.fullmatch(layer))]
    if len(classes) < len(layers):
        children = ", ".join(repr(name) for name in list(dict(model.named_children()))[:6])
        raise UsageError(
            f"{plan.name}: the model has no module named '{missing}' (its children: "
            f"{children or 'none'}); plan with a profile of this model"
        )
    names = dict(zip(layers, _in_order(model, classes)))
    if len(names) < len(layers):
        raise UsageError(
            f"{plan.name}: this {type(model).__name__} has no module for the recorded layer "
            f"'{layers[len(names)]}' at its place in the order; plan with a recording of this "
            "model, or give the layers of the profile the names of its modules"
        )
    stages = tuple(
        dataclasses.replace(stage, layers=tuple(names[layer] for layer in stage.layers))
        for stage in plan.stages
    )
    return dataclasses.replace(plan, stages=stages)


def _in_order(model: nn.Module, classes: list[str]) -> Iterator[str]:
    """The names of the outermost modules that have these classes, in this order."""
    left = list(classes)

    def walk(module: nn.Module, prefix: str) -> Iterator[str]:
        for name, child in module.named_children():
            if left and type(child).__name__ == left[0]:
                left.pop(0)
                yield prefix + name
            else:
                yield from walk(child, f"{prefix}{name}.")

    return walk(model, "")
