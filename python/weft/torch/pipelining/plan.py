# SPDX-License-Identifier: Apache-2.0
"""Reads pipeline plans, which `weft pipeline -o` writes, and checks that they can be run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import BadInput, NotFound

VERSION = 1
_OP = re.compile(r"(\d+)([FBIW])(\d+)")


class Op(NamedTuple):
    """One op of a stage on one micro-batch.

    kind: F: forward; B: the whole backward; I and W: its two halves, which compute the gradients of
    the inputs and of the weights.
    """

    stage: int
    kind: str
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"


@dataclass(frozen=True)
class PlannedStage:
    layers: tuple[str, ...]
    devices: tuple[int, ...]
    recompute: bool


@dataclass(frozen=True)
class Plan:
    name: str  # the name of the file, or "the plan"; used in messages
    microbatches: int
    devices: int  # number of devices of the cluster, including idle ones
    stages: tuple[PlannedStage, ...]
    orders: Mapping[tuple[int, ...], tuple[Op, ...]]
    """Key: a group of devices. Value: the ops of all stages of the group, in the order in which
    each of its devices runs them."""

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The groups of devices, each once, in the order of their first stages."""
        return list(dict.fromkeys(stage.devices for stage in self.stages))

    @property
    def replicated(self) -> bool:
        return any(len(stage.devices) > 1 for stage in self.stages)

    def order_of(self, device: int) -> tuple[Op, ...]:
        """The ops that a device runs; empty if it has no stage."""
        return next((ops for group, ops in self.orders.items() if device in group), ())


class _Bad(Exception):
    """The error in a plan, as a phrase that follows the name of the file."""


def read_plan(source: Plan | Mapping[str, Any] | str | os.PathLike[str]) -> Plan:
    """Read a plan from a file, or from the object that json.load() returns for one."""
    if isinstance(source, Plan):
        return source
    if isinstance(source, Mapping):
        name, document, file = "the plan", source, None
    else:
        name = file = os.fspath(source)
        document = _document(file)
    try:
        return _checked(name, document)
    except _Bad as wrong:
        raise BadInput(f"{name}: {wrong}", file=file) from None


def _document(file: str) -> Any:
    try:
        return json.loads(Path(file).read_bytes())
    except FileNotFoundError:
        raise NotFound(
            f"{file}: no such file; write a plan with weft pipeline -o", file=file
        ) from None
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})", file=file) from error
    except ValueError as error:
        byte = error.pos if isinstance(error, json.JSONDecodeError) else None
        raise BadInput(
            f"{file}: is not JSON; write a plan with weft pipeline -o", file=file, byte=byte
        ) from error


def _checked(name: str, document: Any) -> Plan:
    if not isinstance(document, Mapping) or "pipeline_plan_version" not in document:
        raise _Bad("is not a pipeline plan; write one with weft pipeline -o")
    version = document["pipeline_plan_version"]
    if version != VERSION:
        raise _Bad(f"has version {version} of the format; this Weft reads version {VERSION}")
    microbatches = _number(document, "microbatches", "the plan")
    if microbatches < 1:
        raise _Bad("has no micro-batches")
    stages = tuple(_stage(number, entry) for number, entry in enumerate(_list(document, "stages")))
    if not stages:
        raise _Bad("has no stages")
    cluster = document.get("cluster")
    last = max(device for stage in stages for device in stage.devices)
    devices = (
        _number(cluster, "devices", "its cluster") if isinstance(cluster, Mapping) else last + 1
    )
    if last >= devices:
        raise _Bad(f"has a stage on device {last}, but its cluster has only {devices} devices")
    for stage, layer in ((s, layer) for s in stages for layer in s.layers):
        if sum(other.layers.count(layer) for other in stages) > 1:
            raise _Bad(f"has layer '{layer}' more than once")
    orders = _orders(stages, _list(document, "orders"))
    plan = Plan(name, microbatches, devices, stages, orders)
    _check_counts(plan)
    _check_progress(plan)
    return plan


def _list(document: Mapping[str, Any], field: str) -> list[Any]:
    value = document.get(field)
    if not isinstance(value, list):
        raise _Bad(f"has no list '{field}'")
    return value


def _number(document: Mapping[str, Any], field: str, where: str) -> int:
    value = document.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Bad(f"'{field}' of {where} is not a whole number")
    return value


def _stage(number: int, entry: Any) -> PlannedStage:
    if not isinstance(entry, Mapping):
        raise _Bad(f"stage {number} is not an object")
    layers, devices = _list(entry, "layers"), _list(entry, "devices")
    if not layers or not all(isinstance(layer, str) for layer in layers):
        raise _Bad(f"the layers of stage {number} are not a list of names")
    if not devices or not all(isinstance(device, int) and device >= 0 for device in devices):
        raise _Bad(f"the devices of stage {number} are not a list of numbers")
    if len(set(devices)) != len(devices):
        raise _Bad(f"stage {number} has a device twice")
    return PlannedStage(tuple(layers), tuple(devices), bool(entry.get("recompute", False)))


def _orders(
    stages: tuple[PlannedStage, ...], texts: list[Any]
) -> dict[tuple[int, ...], tuple[Op, ...]]:
    groups = list(dict.fromkeys(stage.devices for stage in stages))
    for number, group in enumerate(groups):
        for other in groups[:number]:
            if set(group) & set(other):
                raise _Bad(
                    f"has stages on devices {list(other)} and {list(group)}, which overlap: two "
                    "stages must have the same devices or none in common"
                )
    if len(texts) != len(groups):
        raise _Bad(f"has {len(texts)} orders for {len(groups)} groups of devices")
    orders: dict[tuple[int, ...], tuple[Op, ...]] = {}
    for group, text in zip(groups, texts):
        ops = tuple(_ops(text))
        for op in ops:
            if op.stage >= len(stages) or stages[op.stage].devices != group:
                raise _Bad(
                    f"has {op} in the order of devices {list(group)}, which do not have that stage"
                )
        orders[group] = ops
    return orders


def _ops(text: Any) -> Iterator[Op]:
    if not isinstance(text, str):
        raise _Bad("has an order that is not a string")
    for token in text.split():
        match = _OP.fullmatch(token)
        if match is None:
            raise _Bad(
                f"has '{token}' in an order; an op is a stage number, one of F, B, I and W, and a "
                "micro-batch number, like 0F3"
            )
        yield Op(int(match[1]), match[2], int(match[3]))


def _check_counts(plan: Plan) -> None:
    """Check that every stage runs every micro-batch once forward,
    then once backward (B or I and W)."""
    seen: dict[tuple[int, int], str] = {}
    for op in (op for ops in plan.orders.values() for op in ops):
        if op.microbatch >= plan.microbatches:
            raise _Bad(f"has {op}, but only {plan.microbatches} micro-batches")
        key = (op.stage, op.microbatch)
        seen[key] = seen.get(key, "") + op.kind
        if seen[key] not in ("F", "FB", "FI", "FIW"):
            raise _Bad(
                f"has {op} at a wrong place: stage {op.stage} would run {seen[key]} for "
                f"micro-batch {op.microbatch}"
            )
    for stage in range(len(plan.stages)):
        for microbatch in range(plan.microbatches):
            found = seen.get((stage, microbatch), "")
            if found not in ("FB", "FIW"):
                raise _Bad(
                    f"runs {found or 'nothing'} for micro-batch {microbatch} on stage {stage}, "
                    "but must run FB or FIW"
                )


def needed_for(op: Op, stages: int) -> tuple[int, str] | None:
    """The neighbouring stage whose result this op needs, and the kind of the result (F or B). None
    if it needs none."""
    if op.kind == "F":
        return (op.stage - 1, "F") if op.stage > 0 else None
    if op.kind in "BI":
        return (op.stage + 1, "B") if op.stage + 1 < stages else None
    return None


def gives(op: Op, stages: int) -> tuple[int, str] | None:
    """The neighbouring stage that needs the result of this op, and the kind of the result (F or B).
    None if no stage needs it."""
    if op.kind == "F":
        return (op.stage + 1, "F") if op.stage + 1 < stages else None
    if op.kind in "BI":
        return (op.stage - 1, "B") if op.stage > 0 else None
    return None


def times_of(plan: Plan) -> dict[Op, tuple[int, int]]:
    """The begin and end of every op on a simulated clock. A whole backward takes two units of time,
    and every other op takes one. If ops wait for each other in a circle, they never start and are
    left out."""
    times: dict[Op, tuple[int, int]] = {}
    given: dict[tuple[int, str, int], int] = {}
    heads = dict.fromkeys(plan.orders, 0)
    free = dict.fromkeys(plan.orders, 0)
    moved = True
    while moved:
        moved = False
        for group, ops in plan.orders.items():
            for op in ops[heads[group] :]:
                need = needed_for(op, len(plan.stages))
                ready = 0 if need is None else given.get((*need, op.microbatch))
                if ready is None:
                    break
                begin = max(free[group], ready)
                free[group] = begin + (2 if op.kind == "B" else 1)
                times[op] = (begin, free[group])
                if op.kind != "W":
                    given[op.stage, "F" if op.kind == "F" else "B", op.microbatch] = free[group]
                heads[group] += 1
                moved = True
    return times


def _check_progress(plan: Plan) -> None:
    """Check that no groups of devices wait for each other, which would be a deadlock."""
    times = times_of(plan)
    heads = (next((op for op in ops if op not in times), None) for ops in plan.orders.values())
    stuck = [str(op) for op in heads if op is not None]
    if stuck:
        raise _Bad(f"has orders that wait for each other forever, at {', '.join(stuck)}")
