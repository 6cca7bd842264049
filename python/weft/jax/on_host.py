# SPDX-License-Identifier: Apache-2.0
"""Redistributes arrays between CPU devices of one or several processes.

The CPU devices of one process share the memory of the process. So all cores together copy the
elements that a device needs directly from the old shards into its new shard. Processes send
messages to each other over TCP; see peers.py.

A device whose shard does not change keeps using the memory of the source array. That is safe even
if the source is deleted or donated later: JAX never writes to memory that has another reference.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

import jax
import numpy as np

from .. import _core
from . import memory
from .layouts import Box, Boxes, as_boxes, as_mesh, box_at, boxes_of, numbers, shape_of
from .peers import peers_of

MOST_ROUTES = 256
# The link that the planner assumes between processes: TCP within one machine. A plan within one
# process does not depend on the link.
LINK = {"link": "50us,2GB/s", "message_cost": "20us"}


@dataclass(frozen=True)
class Route:
    """How to move an array of one shape and type from one sharding to another. A route is computed
    once and reused for all such arrays."""

    kept: Tuple[Tuple[Any, Box], ...]
    """The devices of this process whose shard does not change, each with the box of its shard."""
    gets: Tuple[Tuple[Any, Box], ...]
    """The devices of this process that get a new shard, each with the box of its new shard."""
    devices: Tuple[Any, ...]
    """Devices of this process that send or receive, in the order in
    which `program` expects their buffers."""
    processes: Tuple[int, ...]
    """The processes that take part; empty if nothing has to move."""
    program: Any
    """If only one process takes part, a list with one program per device. If several processes take
    part, the program of this process."""


def move(
    array: Any, sharding: Any, budget: int, timeout: float, may_alias: bool = True
) -> Any:
    planned = route(array.shape, array.dtype, array.sharding, sharding, budget)
    shards = {shard.device: shard.data for shard in array.addressable_shards}
    gets = {device: memory.empty(shape_of(box), array.dtype) for device, box in planned.gets}
    if planned.processes:
        # The NumPy views in `held` keep the source memory alive while it is read. Making a view
        # also waits until JAX has computed the shard.
        held = {device: _in_rows(shards[device]) for device in planned.devices if device in shards}
        ends = [
            (_address(held.get(device)), _address(gets.get(device))) for device in planned.devices
        ]
        if len(planned.processes) == 1:
            _core.reshard_run_all(planned.program, ends)
        else:
            addresses = [address for pair in ends for address in pair]
            peers_of(planned.processes).run(planned.program, addresses, timeout)
    parts = [(device, box, np.asarray(shards[device])) for device, box in planned.kept]
    if not may_alias:
        parts = [(device, box, _copied(part)) for device, box, part in parts]
    parts += [(device, box, gets[device]) for device, box in planned.gets]
    return _assembled(array, sharding, parts)


def _assembled(array: Any, sharding: Any, parts: List[Tuple[Any, Box, Any]]) -> Any:
    """Make a jax.Array that adopts the memory of its shards."""
    shape, dtype = array.shape, array.dtype
    if sharding.is_fully_replicated:
        # For a replicated array, make_array_from_callback() below would make all devices use the
        # memory of one shard.
        places = [
            jax.sharding.SingleDeviceSharding(device, memory_kind=sharding.memory_kind)
            for device, _, _ in parts
        ]
        arrays = jax.device_put([part for _, _, part in parts], places, may_alias=True)
        return jax.make_array_from_single_device_arrays(shape, sharding, arrays, dtype=dtype)
    # Several devices may hold copies of the same box. It does not matter which of these devices
    # gets which copy.
    by_box: Dict[Box, List[Any]] = {}
    for _, box, part in parts:
        by_box.setdefault(box, []).append(part)
    return jax.make_array_from_callback(
        shape, sharding, lambda index: by_box[box_at(index, shape)].pop(), dtype=dtype
    )


def _copied(part: Any) -> Any:
    copy = memory.empty(part.shape, part.dtype)
    copy[...] = part
    return copy


def _address(part: Any) -> int:
    return 0 if part is None else int(part.ctypes.data)


def _in_rows(shard: Any) -> Any:
    """The shard as a NumPy array in row-major order. The elements are copied only if the JAX array
    has another memory layout."""
    return np.asarray(shard, order="C")


@functools.lru_cache(maxsize=MOST_ROUTES)
def route(shape: Tuple[int, ...], dtype: Any, source: Any, target: Any, budget: int) -> Route:
    before, after = boxes_of(source, shape), boxes_of(target, shape)
    kept = [device for device, box in after.items() if before.get(device) == box]
    wanted = {device: box for device, box in after.items() if device not in kept}
    number = numbers([*before, *wanted])
    own_process = jax.process_index()
    here = [device for device in number if device.process_index == own_process]
    processes = sorted({device.process_index for device in number})
    program: Any = None
    if not here or not any(map(_elements, wanted.values())):
        processes = []
    else:
        plan = _plan(shape, dtype, (source, target), (before, wanted), number, budget)
        if len(processes) == 1:
            program = [_core.reshard_program([plan], number[device]) for device in here]
        else:
            owners = [processes.index(device.process_index) for device in number]
            program = _core.ReshardProcess(plan, owners, processes.index(own_process), budget)
    return Route(
        tuple((device, after[device]) for device in kept if device.process_index == own_process),
        tuple((device, wanted[device]) for device in here if device in wanted),
        tuple(here),
        tuple(processes),
        program,
    )


def _plan(
    shape: Tuple[int, ...], dtype: Any, shardings: Tuple[Any, Any], boxes: Tuple[Boxes, Boxes],
    number: Dict[Any, int], budget: int,
) -> Any:  # fmt: skip
    """Plan the move. Within one process, direct copies are best. Between processes, a planner that
    knows the axes of the meshes may find a better plan."""
    ends: List[Any] = [as_boxes(held, number) for held in boxes]
    options: Dict[str, Any] = {"direct": True}
    alone = len({device.process_index for device in number}) == 1
    # The planner may use the meshes only if no device keeps its shard. Otherwise the meshes would
    # also describe shards that do not move.
    if not alone and len(boxes[1]) == len(shardings[1].device_set):
        meshes = [as_mesh(sharding, len(shape), number) for sharding in shardings]
        if None not in meshes:
            ends, options = meshes, {**LINK, "node_size": _devices_each(number), "budget": budget}
    return _core.reshard_plan(shape, dtype.itemsize, str(dtype), ends[0], ends[1], **options)


def _elements(box: Box) -> int:
    return int(np.prod(shape_of(box), dtype=np.int64))


def _devices_each(number: Dict[Any, int]) -> int:
    """The number of devices per process; 0 if not all processes have the same number of devices."""
    counts: Dict[int, int] = {}
    for device in number:
        counts[device.process_index] = counts.get(device.process_index, 0) + 1
    return next(iter(counts.values())) if len(set(counts.values())) == 1 else 0
