# SPDX-License-Identifier: Apache-2.0
"""Cuts a model into the stages of a plan.

torch.fx traces what the model does between its layers. Each layer goes to the stage that the plan
names. Work between layers goes to the earliest stage that has all inputs of that work. A value that
a later stage needs passes through all stages in between. Work that does not depend on the model's
inputs, such as positions and masks, is repeated in every stage that needs it.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import fx, nn

from ...errors import UsageError
from .naming import with_module_names
from .plan import Plan

_SPECIALISED = ("_assert_is_none", "_assert")


class StageModule(nn.Module):  # type: ignore[misc]
    """One stage. It takes the values that cross the cut before it and returns the values that cross
    the cut after it.

    Its parameters have the same names as in the model and share the model's memory.
    """

    def __init__(self, graph: fx.GraphModule, copies_inputs: bool) -> None:
        super().__init__()
        self.graph_module = graph
        self._copies_inputs = copies_inputs

    def forward(self, *values: Any) -> Any:
        # Autograd forbids in-place changes of leaf tensors that require
        # gradients, which the inputs of a stage are.
        if self._copies_inputs:
            values = tuple(v.clone() if isinstance(v, torch.Tensor) else v for v in values)
        return self.graph_module(*values)


class _Tracer(fx.Tracer):  # type: ignore[misc]
    """Treats each layer of the plan as one op, and traces into modules that contain such layers."""

    proxy_buffer_attributes = True

    def __init__(self, layers: set[str]) -> None:
        super().__init__()
        self._layers = layers

    def is_leaf_module(self, module: nn.Module, name: str) -> bool:
        if name in self._layers:
            return True
        if any(layer.startswith(name + ".") for layer in self._layers):
            return False
        return bool(super().is_leaf_module(module, name))


def cut(model: nn.Module, plan: Plan) -> list[StageModule]:
    """The stages of the plan. They share the parameters of the model."""
    plan = with_module_names(plan, model)
    stage_of_layer = {layer: s for s, stage in enumerate(plan.stages) for layer in stage.layers}
    _check_nesting(plan, stage_of_layer)
    graph = _trace(model, set(stage_of_layer))
    stages = _place(graph, stage_of_layer, len(plan.stages))
    _check_parameters(model, graph, stages)
    return [_stage(model, graph, stages, number) for number in range(len(plan.stages))]


def _check_nesting(plan: Plan, stage_of_layer: dict[str, int]) -> None:
    for layer in stage_of_layer:
        inside = next((o for o in stage_of_layer if o.startswith(layer + ".")), None)
        if inside is not None:
            raise UsageError(
                f"{plan.name}: layer '{inside}' is inside layer '{layer}': a plan may name only "
                "one of them"
            )


def _trace(model: nn.Module, layers: set[str]) -> fx.Graph:
    """The graph of the model's forward, with one node per layer and without dead code."""
    parameters = inspect.signature(model.forward).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    try:
        graph = _Tracer(layers).trace(model, concrete_args=defaults or None)
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise UsageError(
            f"{type(model).__name__} cannot be cut: torch.fx cannot trace its forward "
            f"({type(error).__name__}: {reason}); use nn.Sequential, or a forward whose branches "
            "and loops do not depend on tensor values"
        ) from error
    # Arguments with defaults are fixed to their defaults. Remove the placeholders and assertions
    # that fx leaves for them, and nodes whose results nobody uses.
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and getattr(node.target, "__name__", "") in _SPECIALISED:
            graph.erase_node(node)
        elif not node.users and node.op not in ("output", "placeholder"):
            graph.erase_node(node)
        elif node.op == "placeholder" and not node.users and node.args:
            graph.erase_node(node)
    called = {node.target for node in graph.nodes if node.op == "call_module"}
    missing = sorted(layers - called)
    if missing:
        raise UsageError(
            f"{type(model).__name__} cannot be cut: its forward never calls layer '{missing[0]}', "
            "or uses the layer's parameters without calling the layer"
        )
    return graph


def _place(graph: fx.Graph, stage_of_layer: dict[str, int], count: int) -> dict[fx.Node, int]:
    """The stage of every node, except for nodes that are repeated wherever they are needed."""
    stages: dict[fx.Node, int] = {}
    least: dict[fx.Node, int] = {}  # for repeated nodes: the first stage that may need them
    for node in graph.nodes:
        if node.op == "placeholder":
            stages[node] = 0
            continue
        if node.op == "output":
            stages[node] = count - 1
            continue
        takes = list(node.all_input_nodes)
        earliest = max((stages.get(n, least.get(n, 0)) for n in takes), default=0)
        planned = stage_of_layer.get(node.target) if node.op == "call_module" else None
        if planned is not None and planned < earliest:
            raise UsageError(
                f"the plan's order of layers does not fit the model: layer '{node.target}' of "
                f"stage {planned} needs an output of the later stage {earliest}"
            )
        stage = earliest if planned is None else planned
        if any(n in stages for n in takes):
            stages[node] = stage
        else:
            least[node] = stage
    return stages


def _users(node: fx.Node, stages: dict[fx.Node, int]) -> set[int]:
    """The stages that need a node, directly or through repeated nodes."""
    found: set[int] = set()
    for user in node.users:
        found |= {stages[user]} if user in stages else _users(user, stages)
    return found


def _check_parameters(model: nn.Module, graph: fx.Graph, stages: dict[fx.Node, int]) -> None:
    """Check that no parameter is used by several stages: each stage would train its own copy."""
    where: dict[int, tuple[str, set[int]]] = {}
    for node in graph.nodes:
        if node.op == "get_attr":
            owner, _, leaf = node.target.rpartition(".")
            value = getattr(model.get_submodule(owner), leaf)
            held = [(node.target, value)] if isinstance(value, nn.Parameter) else []
        elif node.op == "call_module":
            module = model.get_submodule(node.target)
            held = [(f"{node.target}.{name}", p) for name, p in module.named_parameters()]
        else:
            continue
        needed = {stages[node]} if node in stages else _users(node, stages)
        for name, parameter in held:
            _, found = where.setdefault(id(parameter), (name, set()))
            found |= needed
    for name, found in where.values():
        if len(found) > 1:
            first, second, *_ = sorted(found)
            raise UsageError(
                f"parameter '{name}' is used by stages {first} and {second}: plan with all layers "
                "that share it in one stage"
            )


def crossing(stages: dict[fx.Node, int], cut_before: int) -> list[fx.Node]:
    """The values that cross the cut before stage `cut_before`."""
    return [
        node
        for node, stage in stages.items()
        if stage < cut_before and any(later >= cut_before for later in _users(node, stages))
    ]


def _writes_into(model: nn.Module, node: fx.Node) -> bool:
    """Whether some user of a value may change it in place. Methods and functions whose name ends in
    an underscore do so by torch's convention."""
    for user in node.users:
        if user.op == "call_module":
            module = model.get_submodule(user.target)
            if any(getattr(m, "inplace", False) for m in module.modules()):
                return True
        name = user.target if isinstance(user.target, str) else getattr(user.target, "__name__", "")
        if user.kwargs.get("inplace") or (user.op != "call_module" and name.endswith("_")):
            return True
    return False


def _stage(
    model: nn.Module, graph: fx.Graph, stages: dict[fx.Node, int], number: int
) -> StageModule:
    last = max(stages.values())
    if number == 0:
        takes = [node for node in graph.nodes if node.op == "placeholder"]
    else:
        takes = crossing(stages, number)
    stage = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}

    def copy(node: fx.Node) -> fx.Node:
        if node not in copies:  # repeated in this stage, or placed in it
            for taken in node.all_input_nodes:
                copy(taken)
            copies[node] = stage.node_copy(node, copies.__getitem__)
        return copies[node]

    for node in takes:
        copies[node] = stage.placeholder(node.name)
    for node in graph.nodes:
        if stages.get(node) == number and node.op not in ("placeholder", "output"):
            copy(node)
    if number == last:
        output = next(node for node in graph.nodes if node.op == "output")
        stage.output(fx.map_arg(output.args[0], copy))
    else:
        stage.output(tuple(copies[node] for node in crossing(stages, number + 1)))
    stage.lint()
    writes = any(_writes_into(model, node) for node in takes)
    module = fx.GraphModule(model, stage, class_name=f"Stage{number}")
    module.train(model.training)
    return StageModule(module, writes)
