# SPDX-License-Identifier: Apache-2.0
"""Moves arrays between CPU devices, of one process or of several.

Devices of one process lie in one memory: what a device lacks is copied straight from where it lies to
where it belongs, by all cores. Between processes messages go over TCP, see peers.py.

A device whose part does not change shares it with the source: JAX never writes to memory that
somebody else refers to, also where the source is deleted or donated later.
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
# Between processes of one machine. Inside a process the plan does not depend on it.
LINK = {"link": "50us,2GB/s", "message_cost": "20us"}


@dataclass(frozen=True)
class Route:
    """How arrays of one shape and type get from one sharding to another: made once, used for each."""

    kept: Tuple[Tuple[Any, Box], ...]
    """Devices of this process whose part does not change."""
    gets: Tuple[Tuple[Any, Box], ...]
    """Those that get another."""
    devices: Tuple[Any, ...]
    """Those that hold or get something, as the program counts them."""
    processes: Tuple[int, ...]
    """That take part, where anything moves."""
    program: Any
    """Of each device, if no other process takes part; else of the process."""


def move(array: Any, sharding: Any, budget: int, timeout: float) -> Any:
    way = route(array.shape, array.dtype, array.sharding, sharding, budget)
    shards = {shard.device: shard.data for shard in array.addressable_shards}
    gets = {device: memory.empty(shape_of(box), array.dtype) for device, box in way.gets}
    if way.processes:
        # Seen by NumPy the memory is held while it is read; this also waits until it is written.
        held = {device: _in_rows(shards[device]) for device in way.devices if device in shards}
        ends = [(_address(held.get(device)), _address(gets.get(device))) for device in way.devices]
        if len(way.processes) == 1:
            _core.reshard_run_all(way.program, ends)
        else:
            addresses = [address for pair in ends for address in pair]
            peers_of(way.processes).run(way.program, addresses, timeout)
    parts = [(device, box, np.asarray(shards[device])) for device, box in way.kept]
    parts += [(device, box, gets[device]) for device, box in way.gets]
    return _assembled(array, sharding, parts)


def _assembled(array: Any, sharding: Any, parts: List[Tuple[Any, Box, Any]]) -> Any:
    """One array of JAX, made of the memory of its parts."""
    shape, dtype = array.shape, array.dtype
    if sharding.is_fully_replicated:
        # The way below would give the memory of one part to all devices.
        places = [
            jax.sharding.SingleDeviceSharding(device, memory_kind=sharding.memory_kind)
            for device, _, _ in parts
        ]
        arrays = jax.device_put([part for _, _, part in parts], places, may_alias=True)
        return jax.make_array_from_single_device_arrays(shape, sharding, arrays, dtype=dtype)
    # Copies have the same box, and it does not matter which device gets which.
    by_box: Dict[Box, List[Any]] = {}
    for _, box, part in parts:
        by_box.setdefault(box, []).append(part)
    return jax.make_array_from_callback(
        shape, sharding, lambda index: by_box[box_at(index, shape)].pop(), dtype=dtype
    )


def _address(part: Any) -> int:
    return 0 if part is None else int(part.ctypes.data)


def _in_rows(shard: Any) -> Any:
    """Not copied, unless JAX was told to lay the array out in another order."""
    return np.asarray(shard, order="C")


@functools.lru_cache(maxsize=MOST_ROUTES)
def route(shape: Tuple[int, ...], dtype: Any, source: Any, target: Any, budget: int) -> Route:
    before, after = boxes_of(source, shape), boxes_of(target, shape)
    kept = [device for device, box in after.items() if before.get(device) == box]
    wanted = {device: box for device, box in after.items() if device not in kept}
    number = numbers([*before, *wanted])
    here = [device for device in number if device.process_index == jax.process_index()]
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
            self = processes.index(jax.process_index())
            program = _core.ReshardProcess(plan, owners, self, budget)
    return Route(
        tuple((device, after[device]) for device in kept if device.process_index == jax.process_index()),
        tuple((device, wanted[device]) for device in here if device in wanted),
        tuple(here),
        tuple(processes),
        program,
    )


def _plan(
    shape: Tuple[int, ...], dtype: Any, shardings: Tuple[Any, Any], boxes: Tuple[Boxes, Boxes],
    number: Dict[Any, int], budget: int,
) -> Any:  # fmt: skip
    """In one memory straight copies are best; between processes a planner that sees axes may do better."""
    ends: List[Any] = [as_boxes(held, number) for held in boxes]
    options: Dict[str, Any] = {"direct": True}
    alone = len({device.process_index for device in number}) == 1
    if not alone and len(boxes[1]) == len(shardings[1].device_set):  # nobody keeps its part
        meshes = [as_mesh(sharding, len(shape), number) for sharding in shardings]
        if None not in meshes:
            ends, options = meshes, {**LINK, "node_size": _devices_each(number), "budget": budget}
    return _core.reshard_plan(shape, dtype.itemsize, str(dtype), ends[0], ends[1], **options)


def _elements(box: Box) -> int:
    return int(np.prod(shape_of(box), dtype=np.int64))


def _devices_each(number: Dict[Any, int]) -> int:
    """Devices of each process; 0: they differ."""
    counts: Dict[int, int] = {}
    for device in number:
        counts[device.process_index] = counts.get(device.process_index, 0) + 1
    return next(iter(counts.values())) if len(set(counts.values())) == 1 else 0
